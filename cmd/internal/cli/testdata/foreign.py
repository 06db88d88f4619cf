"""Logs runs through MLflow's own Python client, as another team's tool would.

stdin: {"experiment": name, "runs": [{name, tags, metrics, status, outcomes, under, delete}]}
stdout: {name: run id}
"""
import json
import os
import sys
import tempfile

import mlflow

order = json.load(sys.stdin)
mlflow.set_experiment(order["experiment"])
ids = {}
for r in order["runs"]:
    parent = ids[r["under"]] if r.get("under") else None
    run = mlflow.start_run(run_name=r["name"], parent_run_id=parent, nested=parent is not None)
    ids[r["name"]] = run.info.run_id
    if r.get("tags"):
        mlflow.set_tags(r["tags"])
    for key, value in (r.get("metrics") or {}).items():
        mlflow.log_metric(key, float(value))
    if r.get("outcomes") is not None:
        with tempfile.TemporaryDirectory() as folder:
            name = os.path.join(folder, "outcomes.jsonl")
            with open(name, "w") as f:
                f.write(r["outcomes"])
            mlflow.log_artifact(name)
    mlflow.end_run(r.get("status") or "FINISHED")
    if r.get("delete"):
        mlflow.delete_run(run.info.run_id)
json.dump(ids, sys.stdout)
