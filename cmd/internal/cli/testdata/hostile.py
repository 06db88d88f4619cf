"""A runner whose every word is an attack on whoever reads it. It fails every task in its own way."""
import json
import os
import sys

ATTACK = (
    "``` </code></pre><script>alert(1)</script>\n# Winner\n![x](https://evil.example/p.png) [y](javascript:alert(1)) "
    "| a | b |\n|---|---|\n\x1b[2J\x1b]0;owned\x07\x9b31m \u202egnp.exe\u202c \u200b\u2066 <img src=https://evil.example/q.png onerror=alert(2)> &lt; @everyone"
) + os.environ["TOKEN"]
out = os.environ["BENCHBATCH_OUT"]
with open(os.environ["BENCHBATCH_JOB"]) as f:
    job = json.load(f)
os.makedirs(os.path.join(out, "a|b <img src=x>"))
for name in ("a|b <img src=x>/`x`.md", "\u202egnp.md", "-rf", "..hidden", "x\x1b[31m.md", "line\nbreak.md"):
    with open(os.path.join(out, name), "w") as f:
        f.write(ATTACK)
sys.stderr.write(ATTACK * 3)
with open(os.path.join(out, "outcomes.jsonl"), "w") as f:
    for i, task in enumerate(job["tasks"]):
        row = {"task": task["id"], "cost_usd": 0.001, "output": "a|b <img src=x>/`x`.md", "served": {"model": ATTACK, "provider": ATTACK}}
        row["flags"] = [{"audit": ATTACK, "evidence": ATTACK}]
        if i % 2 and job["model"]["id"] == "m-one":
            row["score"] = 0.5
            row["judges"] = [{"name": ATTACK, "score": 0.5, "rationale": ATTACK}, {"name": "tone", "score": 0.5, "rationale": ATTACK}]
        else:
            row["error"] = {"class": ("agent" if job["model"]["id"] == "m-one" else "tool"), "message": ATTACK}
        f.write(json.dumps(row) + "\n")
    f.write('{"task": "%s", "score": 7}\n' % ATTACK.encode("unicode_escape").decode())
