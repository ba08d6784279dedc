import json
import sys

import numpy as np
from scipy.optimize import differential_evolution


def loss(point):
    return float(np.sum((point - 0.3) ** 2) + 0.1 * np.sum(np.cos(9 * point)))


names = sorted({"a", "b"})
found = differential_evolution(loss, [(-2, 2)] * 3, maxiter=4, workers=2, updating="deferred", polish=False)
values = found.x

with open(sys.argv[1] + "/metrics.jsonl", "w") as out:
    for step, value in enumerate(values):
        out.write(json.dumps({"step": step, "loss": float(value)}) + "\n")
