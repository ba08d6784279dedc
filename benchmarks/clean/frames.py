"""Pandas: groups, merges and samples with seeds."""

import json
import sys

import numpy as np
import pandas as pd

rng = np.random.default_rng(6)
left = pd.DataFrame({"key": rng.integers(0, 30, 400), "value": rng.normal(size=400)})
right = pd.DataFrame({"key": np.arange(30), "weight": rng.uniform(size=30)})
joined = left.merge(right, on="key").assign(total=lambda table: table.value * table.weight)
with open(sys.argv[1] + "/metrics.jsonl", "w") as out:
    for step in range(3):
        part = joined.sample(frac=0.5, random_state=step)
        means = part.groupby("key").total.agg(["mean", "std"]).fillna(0.0)
        out.write(
            json.dumps({"step": step, "mean": float(means["mean"].sum()), "std": float(means["std"].sum())})
            + "\n"
        )
