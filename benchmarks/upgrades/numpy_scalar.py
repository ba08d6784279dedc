"""One weight in single precision, in numpy."""

import json
import sys

import numpy as np

draws = np.random.default_rng(0)
weight, rate = np.float32(0.5), 0.1

with open(f"{sys.argv[1]}/log.jsonl", "w") as log:
    for step in range(5):
        data = draws.random(8, dtype=np.float32)
        error = data * weight - data * np.float32(0.3)
        weight = weight - rate * (2 * error * data).mean()
        log.write(json.dumps({"step": step, "loss": float((error**2).mean())}) + "\n")
