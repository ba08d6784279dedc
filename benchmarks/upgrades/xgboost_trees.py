"""Boosted trees on random data, in xgboost."""

import json
import sys

import numpy as np
import xgboost

draws = np.random.RandomState(0)
points = draws.rand(2000, 8)
target = 3 * points[:, 0] + np.sin(6 * points[:, 1]) + 0.1 * draws.rand(2000)
data = xgboost.DMatrix(points, target)
trees = xgboost.Booster({"seed": 1, "nthread": 1, "max_depth": 4}, [data])

with open(f"{sys.argv[1]}/log.jsonl", "w") as log:
    for step in range(5):
        trees.update(data, step)
        loss = float(((trees.predict(data) - target) ** 2).mean())
        log.write(json.dumps({"step": step, "loss": loss}) + "\n")
