import json
import sys

import cma
import numpy as np

np.random.seed(3)
start = np.random.normal(size=4)
search = cma.CMAEvolutionStrategy(start, 0.5, {"verbose": -9, "maxiter": 8})
search.optimize(lambda point: float(np.sum((point - 0.2) ** 2)))
values = search.result.xbest

with open(sys.argv[1] + "/metrics.jsonl", "w") as out:
    for step, value in enumerate(values):
        out.write(json.dumps({"step": step, "loss": float(value)}) + "\n")
