"""Logs runs through mlflow-benchbatch as training scripts do, also as they should not.

stdout: {name of a case: run id or what was said}
"""
import json
import os
import sys
import uuid
import warnings

import mlflow
from mlflow_benchbatch import OutcomeError, RunError, find_cell, log_outcomes

said = {}


def rows(score, replaced=()):
    return [{"task": f"T-{i:02d}", "score": score} for i in range(1, 13) if i > len(replaced)] + list(replaced)


def refused(name, error, *args, **kwargs):
    try:
        log_outcomes(*args, **kwargs)
    except error as e:
        said[name] = str(e)


cell = find_cell()
mlflow.set_experiment(cell.tags["benchbatch.benchmark"])
full = [{"cost_usd": 0.0025, "passed": True, "judges": [{"name": "tone", "score": 1, "kind": "code"}]} | r for r in rows(0.75)]

with mlflow.start_run() as run:
    said["counts"] = run.info.run_id
    mlflow.log_param("model", "of my own")
    mlflow.log_dict({"columns": ["a"], "data": [[1]]}, "mine.json")
    mlflow.set_tag("mlflow.loggedArtifacts", json.dumps([{"path": "mine.json", "type": "table"}]))
    refused("bad row", OutcomeError, rows(1, [{"task": "T-01", "score": float("nan")}]), cell)
    first = log_outcomes(full, wall_s=90)
    again = log_outcomes(reversed(full), cell)
    said["again is the same"] = first == again
    refused("other rows", RunError, rows(0.5), cell)
    refused("another cell", RunError, full, find_cell(variant="careful+m-two"))
    with mlflow.start_run(nested=True):
        refused("below", RunError, rows(0.5), cell)
said["evaluation"], said["score"] = first.evaluation, first.score
said["a day later"] = log_outcomes(full, cell, run_id=first.run_id) == first

with mlflow.start_run():  # a sweep, with measurements below it
    twin = str(uuid.uuid4())
    for name in ("nested", "twin"):
        with mlflow.start_run(nested=True) as run:
            said[name] = run.info.run_id
            log_outcomes(rows(0.5), find_cell(variant="careful+m-two"), evaluation=twin, role="selection")

lost = [{"task": f"T-{i:02d}", "error": {"class": "provider"}} for i in (1, 2)]
with mlflow.start_run() as run:
    said["measured again"] = run.info.run_id
    refused("too many missing", RunError, rows(1, lost), cell)
    said["tags of a refused run"] = [t for t in mlflow.get_run(run.info.run_id).data.tags if t in cell.tags and "hash" in t]
    log_outcomes(rows(1, lost[:1]), find_cell(variant="quick+m-two"))

with mlflow.start_run():
    mlflow.log_metric("score", 75)
    refused("own score", RunError, rows(1), cell)
try:
    with mlflow.start_run() as run:
        said["failed"] = run.info.run_id
        log_outcomes(rows(1), cell)
        raise KeyError("after the measurement")
except KeyError:
    pass
refused("no run", RunError, rows(1), cell)
refused("a batch", RunError, rows(0), cell, run_id=mlflow.MlflowClient().create_run("0", tags={"benchbatch.kind": "batch"}).info.run_id)

mlflow.set_experiment(cell.tags["benchbatch.benchmark"] + "-elsewhere")
with mlflow.start_run(), warnings.catch_warnings(record=True) as heard:
    warnings.simplefilter("always")
    log_outcomes(rows(1), cell)
    said["elsewhere"] = [str(w.message) for w in heard if w.filename == __file__]

os.environ["BENCHBATCH_SPEC"] = "\udcff" * 9000  # never fails a run
with mlflow.start_run() as run:
    said["noted"] = mlflow.get_run(run.info.run_id).data.tags["benchbatch.spec"]
del os.environ["BENCHBATCH_SPEC"]
with mlflow.start_run() as run:
    said["not noted"] = [t for t in mlflow.get_run(run.info.run_id).data.tags if t.startswith("benchbatch.")]
json.dump(said, sys.stdout)
