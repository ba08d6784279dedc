import json
import sys

import duckdb

with duckdb.connect() as db:
    db.execute("CREATE TABLE rows AS SELECT i FROM range(5000) AS t(i)")
    found = db.execute("SELECT i FROM rows USING SAMPLE reservoir(40 ROWS)").fetchall()
values = [one for (one,) in found]

with open(sys.argv[1] + "/metrics.jsonl", "w") as out:
    for step, value in enumerate(values):
        out.write(json.dumps({"step": step, "loss": float(value)}) + "\n")
