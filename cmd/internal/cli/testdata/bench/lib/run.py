"""Scores tasks at random around the agent's skill.

STARTS may name a file that gets a line for each start, FAULTS one of what goes wrong (JSON): for a task or a model in how many attempts the
provider fails; "sleep", in seconds, for those after the first "from" starts; "until", a file to wait for; "cost" of a task in USD; "detach",
to leave a process behind; "hang" after so many lines, until there is a file "hangs"; "spans" to log begin and end.
"""
import importlib.util
import json
import os
import random
import subprocess
import sys
import time


def load(path):
    spec = importlib.util.spec_from_file_location("agent", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


with open(os.environ["BENCHBATCH_JOB"]) as f:
    job = json.load(f)
out = os.environ["BENCHBATCH_OUT"]
agent = load(os.path.join("agents", job["agent"]["id"], "agent.py"))
starts = 0
if os.environ.get("STARTS"):
    with open(os.environ["STARTS"], "a+") as f:
        f.write("%s+%s r%d a%d %d\n" % (job["agent"]["id"], job["model"]["id"], job["repeat"], job["attempt"], len(job["tasks"])))
        f.flush()
        mine = f.tell()
        f.seek(0)
        starts = f.read(mine).count("\n")
faults = {}
if os.environ.get("FAULTS") and os.path.exists(os.environ["FAULTS"]):
    with open(os.environ["FAULTS"]) as f:
        faults = json.load(f)
if faults.get("detach"):
    with open(os.environ["STARTS"] + ".detached", "a") as f:
        f.write("%d\n" % subprocess.Popen(["sleep", "600"], start_new_session=True).pid)


def span(word):
    if faults.get("spans"):
        with open(os.environ["STARTS"] + ".spans", "a") as f:
            f.write("%s %s\n" % (word, job["model"]["id"]))


span("begin")
if starts > faults.get("from", 0):
    time.sleep(faults.get("sleep", 0))
while faults.get("until") and not os.path.exists(faults["until"]):
    time.sleep(0.01)
with open(os.path.join(out, "outcomes.jsonl"), "w") as f:
    for task in job["tasks"]:
        row = {"task": task["id"], "tokens": {"input": 100, "output": 10}, "cost_usd": faults.get("cost", 0.001), "duration_s": 0.01}
        if job["attempt"] <= faults.get(task["id"], faults.get(job["model"]["id"], 0)):
            row["error"] = {"class": "provider", "message": "HTTP 503"}
        else:
            row["score"] = round(min(1.0, max(0.0, random.gauss(agent.SKILL, 0.1))), 4)
        row["output"] = task["id"] + ".txt"
        with open(os.path.join(out, row["output"]), "w") as answer:
            answer.write("answer to " + task["id"])
        f.write(json.dumps(row) + "\n")
        f.flush()
        if job["tasks"].index(task) + 1 == faults.get("hang"):
            while not os.path.exists(faults.get("hangs", "")):
                time.sleep(0.01)
span("end")
sys.exit(0)
