"""What a user would write instead of `benchbatch export`: raw outcomes.jsonl files to one Parquet table through pandas.

usage: export.py RAW_FOLDER OUT.parquet
"""
import glob
import json
import os
import sys

import pandas as pd

rows = []
for name in sorted(glob.glob(os.path.join(sys.argv[1], "*", "outcomes.jsonl"))):
    with open(name) as f:
        for line in f:
            row = json.loads(line)
            row["run_id"] = os.path.basename(os.path.dirname(name))
            for kind, n in (row.pop("tokens", None) or {}).items():
                row["tokens_" + kind] = n
            row["judges"] = json.dumps(row.get("judges"))
            row["flags"] = json.dumps(row.get("flags"))
            for part in ("served", "error"):
                for key, v in (row.pop(part, None) or {}).items():
                    row["%s_%s" % (part, key)] = v
            rows.append(row)
frame = pd.DataFrame(rows)
frame.to_parquet(sys.argv[2], compression="zstd")
print(len(frame), frame["score"].sum())
