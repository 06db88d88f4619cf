"""What a user would write instead of `benchbatch verify`: hashes, row counts, and the outcomes table compared with raw/, row by row.

usage: verify.py FOLDER
"""
import glob
import hashlib
import json
import os
import sys

import pyarrow.parquet as pq

folder = sys.argv[1]
with open(os.path.join(folder, "SHA256SUMS")) as f:
    for line in f:
        want, name = line.rstrip("\n").split("  ", 1)
        h = hashlib.sha256()
        with open(os.path.join(folder, name), "rb") as g:
            while block := g.read(1 << 20):
                h.update(block)
        assert h.hexdigest() == want, name
raw = {}
for name in glob.glob(os.path.join(folder, "raw", "*", "outcomes.jsonl")):
    run = os.path.basename(os.path.dirname(name))
    with open(name) as f:
        for line in f:
            row = json.loads(line)
            raw[run, row["task"]] = (row.get("state"), row["score"], row.get("cost_usd"), row.get("duration_s"), (row.get("tokens") or {}).get("output"))
n = 0
table = pq.ParquetFile(os.path.join(folder, "tables", "outcomes.parquet"))
for batch in table.iter_batches(columns=["run_id", "task", "state", "score", "cost_usd", "duration_s", "tokens_output"]):
    for row in batch.to_pylist():
        assert raw[row["run_id"], row["task"]] == (row["state"], row["score"], row["cost_usd"], row["duration_s"], row["tokens_output"]), row
        n += 1
assert n == len(raw), (n, len(raw))
for name in glob.glob(os.path.join(folder, "tables", "*.parquet")):
    pq.read_metadata(name)
print(n, "rows hold")
