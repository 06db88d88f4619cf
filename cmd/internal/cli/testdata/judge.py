"""Gives every answer the score 1 where its expected answer arrived, else 0. It goes on until the spy has looked."""
import json
import os
import time

with open(os.environ["BENCHBATCH_JOB"]) as f:
    job = json.load(f)
open(os.environ["ADDRESS"] + ".judging", "w").close()
until = time.monotonic() + 30
while not os.path.exists(os.environ["ADDRESS"]) and time.monotonic() < until:
    time.sleep(0.02)
with open(os.path.join(os.environ["BENCHBATCH_OUT"], "outcomes.jsonl"), "w") as f:
    for task in job["tasks"]:
        f.write(json.dumps({"task": task["id"], "score": float(task["expected"].startswith("tray"))}) + "\n")
