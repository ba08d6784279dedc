import json
import random
import sys

import polars as pl

random.seed(0)
frame = pl.DataFrame({"row": range(1000)})
order = frame["row"].shuffle()
values = [row * random.random() for row in order[:30]]

with open(sys.argv[1] + "/metrics.jsonl", "w") as out:
    for step, value in enumerate(values):
        out.write(json.dumps({"step": step, "loss": float(value)}) + "\n")
