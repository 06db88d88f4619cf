"""Fills the SQLite store of an MLflow server with N evaluation runs, by bulk insert.

usage: seed.py STORE_URI RUNS EXPERIMENT HASHES
STORE_URI  as sqlite:///mlflow.db; the store must have been opened once by a server
HASHES     what `benchbatch hash --json` printed: the first cells × 3 runs carry these tags, all others those of other recipes
Each run has 19 tags, 6 params and 21 metrics, as benchbatch logs an evaluation.
"""
import hashlib
import json
import random
import sys
import time
import uuid

from sqlalchemy import MetaData, create_engine, insert, text

METRICS = ["score", "pass_fraction", "coverage", "cost_usd", "wall_s", "wait_s", "tokens/input", "tokens/cache_read", "tokens/output",
           "judge/tone", "judge/policy", "judge/facts"]
STATES = ["scored", "agent", "timeout", "provider", "tool", "harness", "judge", "budget", "not_run"]
TASKS = 12  # of the panel: all of them are scored


def digest(*parts):
    return hashlib.sha256("|".join(map(str, parts)).encode()).hexdigest()


def other_tags(tags, group):
    """The same cell under another recipe."""
    identity = json.loads(tags["benchbatch.identity"])
    identity["execution"] = digest("execution", group)
    identity["recipe"] = digest("recipe", group)
    identity["cell"] = digest("cell", group, tags["benchbatch.cell"])
    return dict(tags, **{
        "benchbatch.version": "v%d" % (group + 1), "benchbatch.execution": identity["execution"][:16], "benchbatch.recipe": identity["recipe"][:16],
        "benchbatch.cell": identity["cell"][:16], "benchbatch.identity": json.dumps(identity, sort_keys=True, separators=(",", ":"))})


def main():
    uri, runs, experiment, hashes = sys.argv[1], int(sys.argv[2]), sys.argv[3], json.load(open(sys.argv[4]))
    rng = random.Random(7)
    engine = create_engine(uri)
    meta = MetaData()
    meta.reflect(engine, only=["experiments", "runs", "tags", "params", "metrics", "latest_metrics"])
    table = meta.tables
    now = int(time.time() * 1000) - runs * 1000
    with engine.begin() as c:
        row = dict(name=experiment, artifact_location="", lifecycle_stage="active", creation_time=now, last_update_time=now)
        if "workspace" in table["experiments"].c.keys():
            row["workspace"] = "default"
        c.execute(insert(table["experiments"]).values(**row))
        exp = c.execute(text("select experiment_id from experiments where name=:n"), {"n": experiment}).scalar()
        c.execute(text("update experiments set artifact_location=:a where experiment_id=:e"), {"a": "mlflow-artifacts:/%s" % exp, "e": exp})
    rows = {name: [] for name in ("runs", "tags", "params", "metrics", "latest_metrics")}

    def flush():
        with engine.begin() as c:
            for name, values in rows.items():
                if values:
                    c.execute(insert(table[name]), values)
                values.clear()

    size = len(hashes) * 3
    for i in range(runs):
        group, cell, slot = i // size, hashes[i % len(hashes)], i % size // len(hashes) + 1
        tags = dict(cell["tags"]) if group == 0 else other_tags(cell["tags"], group)
        run, start, outcomes = uuid.UUID(int=rng.getrandbits(128)).hex, now + i * 1000, digest("outcomes", i)
        parent = digest("parent", group)[:32]
        name = "%s+%s · r%d" % (cell["agent"], cell["model"], slot)
        tags.update({
            "mlflow.parentRunId": parent, "mlflow.runName": name, "mlflow.user": "bench", "mlflow.source.name": "benchbatch",
            "benchbatch.batch": parent, "benchbatch.slot": str(slot), "benchbatch.evaluation": str(uuid.UUID(int=rng.getrandbits(128))),
            "benchbatch.state": "complete", "benchbatch.outcomes": outcomes,
            "benchbatch.artifacts": json.dumps([{"path": "outcomes.jsonl", "sha256": outcomes, "size": 20000}])})
        rows["runs"].append(dict(
            run_uuid=run, name=name, source_type="UNKNOWN", source_name="", entry_point_name="", user_id="", status="FINISHED", start_time=start,
            end_time=start + 60000, source_version="", lifecycle_stage="active", artifact_uri="mlflow-artifacts:/%s/%s/artifacts" % (exp, run), experiment_id=exp))
        rows["tags"] += [dict(key=k, value=v, run_uuid=run) for k, v in tags.items()]
        params = dict(agent=cell["agent"], model=cell["model"], repeat=str(slot), benchmark=experiment, version=tags["benchbatch.version"], brain="brain/")
        rows["params"] += [dict(key=k, value=v, run_uuid=run) for k, v in params.items()]
        values = {key: rng.random() for key in METRICS}
        values.update({"count/" + state: TASKS * (state == "scored") for state in STATES})
        for key, value in values.items():
            point = dict(key=key, value=value, timestamp=start + 60000, run_uuid=run, step=0, is_nan=False)
            rows["metrics"].append(point)
            rows["latest_metrics"].append(dict(point))
        if len(rows["runs"]) >= 2000:
            flush()
    flush()
    print("experiment", exp, "runs", runs)


main()
