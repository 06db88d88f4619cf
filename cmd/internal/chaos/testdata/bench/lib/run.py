"""Scores three tasks, and says so itself: CHAOS_LOG gets a line at each start, payment, row and end.

What goes wrong here follows from CHAOS_SEED, cell, repeat and attempt. A payment is in the log before the row that tells it, so what a kill
hides is known. All tasks of an evaluation cost the same, tried again or not: a failure that is tried again is free.
"""
import json
import os
import random
import re
import signal
import sys
import time

with open(os.environ["BENCHBATCH_JOB"]) as f:
    job = json.load(f)
log = os.open(os.environ["CHAOS_LOG"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
uuid = re.search("/benchbatch-([0-9a-f-]{36})-", os.environ["BENCHBATCH_JOB"]).group(1)


def say(word, **more):
    more.update(word=word, uuid=uuid, pid=os.getpid(), at=time.time_ns())
    os.write(log, (json.dumps(more) + "\n").encode())


def asked(*_):
    say("end", scored=False)
    os._exit(1)


say("start", agent=job["agent"]["id"], model=job["model"]["id"], slot=job["repeat"], attempt=job["attempt"], launcher=os.environ["CHAOS_LAUNCHER"])
signal.signal(signal.SIGTERM, asked)
draw = random.Random(" ".join([os.environ["CHAOS_SEED"], job["model"]["id"], str(job["repeat"]), str(job["attempt"])]))
fate = draw.choices(["", "agent", "timeout", "tool", "provider", "harness", "crash", "hang"], [70, 5, 5, 5, 3, 5, 4, 3])[0]
at = draw.randrange(len(job["tasks"]))
scored = True
with open(os.path.join(os.environ["BENCHBATCH_OUT"], "outcomes.jsonl"), "a") as outcomes:
    for i, task in enumerate(job["tasks"]):
        time.sleep(draw.uniform(0.1, 0.4))
        usd = job["model"]["settings"]["usd"]
        row = {"task": task["id"]}
        if i == at and fate == "hang":
            time.sleep(60)
        if i == at and fate == "crash":
            say("end", scored=False)
            sys.exit(3)
        if i == at and fate:
            row["error"] = {"class": fate, "message": "as drawn"}
            scored = scored and fate in ("agent", "timeout")
            usd = 0 if fate in ("provider", "harness") else usd
        else:
            row["score"] = round(draw.random(), 4)
        row["cost_usd"] = usd
        say("paid", usd=usd)
        outcomes.write(json.dumps(row) + "\n")
        outcomes.flush()
        say("told", usd=usd)
say("end", scored=scored)
