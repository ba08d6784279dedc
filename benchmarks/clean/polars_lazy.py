"""Polars: a lazy query whose groups keep their order, and a seeded sample."""

import json
import sys

import polars as pl

table = pl.DataFrame(
    {"key": [number % 17 for number in range(2000)], "value": [float(number % 101) for number in range(2000)]}
)
with open(sys.argv[1] + "/metrics.jsonl", "w") as out:
    for step in range(3):
        part = table.sample(n=500, seed=step, shuffle=True)
        found = part.lazy().group_by("key", maintain_order=True).agg(pl.col("value").sum()).collect()
        out.write(
            json.dumps({"step": step, "first": found["value"][0], "total": found["value"].sum()}) + "\n"
        )
