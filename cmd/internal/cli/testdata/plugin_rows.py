"""Makes rows, sound and odd, and prints what mlflow-benchbatch takes of them: one JSON object a row."""
import json
import math
import random
import sys

from mlflow_benchbatch import OutcomeError, Panel
from mlflow_benchbatch.record import check

VALUES = [
    None, 0, 1, 0.25, 1e-300, -0.0, -1, 75, 1e6, 1e7, 1e308, 2**63 - 1, 2**63, 1.5, math.nan, math.inf, True, False, "", "x", "é\u2028\0\ud800",
    "agent", "provider", "scored", [], {}, [None], [{}], [1, 5], [5, 1], {"input": 3, "x": [1]}, {"input": 1.5}, {"input": None}, {"Input": 3},
    {"class": "agent"}, {"class": "timeout", "message": "m"}, {"class": "provider"}, {"class": "scored"}, {"class": 5}, {"model": "m"},
    [{"name": "a"}], [{"name": "a"}, {"name": "a"}], [{"name": "a"}, {"name": "b", "kind": "code", "rationale": "", "error": None}],
    [{"name": "a", "score": 3}], [{"name": "a", "score": 3, "scale": [1, 5], "kind": "model", "samples": [1, 2.5]}],
    [{"name": "a", "scale": [5, 1]}], [{"name": "a", "scale": [1, 2, 3]}], [{"name": "a", "kind": "dog"}], [{"audit": "a", "evidence": "e"}],
]  # fmt: skip
FIELDS = ["score", "state", "passed", "attempt", "judges", "tokens", "cost_usd", "duration_s", "wait_s", "tool_calls", "tool_errors", "served",
          "output", "transcript", "flags", "error", "repaired", "epoch", "Score", "x y"]  # fmt: skip

chance = random.Random(7)
rows = [{"task": "T", "score": 0.5} | {field: value} for field in FIELDS for value in VALUES]
rows += [{"task": "T"} | {chance.choice(FIELDS): chance.choice(VALUES) for _ in range(4)} for _ in range(3000)]
for policy in ("fail", "missing"):
    panel = Panel("0" * 64, frozenset("T"), 0, policy, 0.5, False)
    for row in rows:
        try:
            (o,) = check([row], panel)
        except OutcomeError:
            json.dump({"policy": policy}, sys.stdout)
        else:
            json.dump({"policy": policy, "line": o.line.decode(), "state": o.state, "score": o.score}, sys.stdout)
        print()
