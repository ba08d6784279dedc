"""Two optimizers on Rosenbrock's function, in scipy."""

import json
import sys

from scipy.optimize import minimize


def valley(point):
    return float((1 - point[0]) ** 2 + 100 * (point[1] - point[0] ** 2) ** 2)


with open(f"{sys.argv[1]}/log.jsonl", "w") as log:
    for step in (5, 10, 20):
        found = {
            name: float(minimize(valley, [-1.0, 1.0], method=name, options={"maxiter": step}).fun)
            for name in ("L-BFGS-B", "COBYLA")
        }
        log.write(json.dumps({"step": step, **found}) + "\n")
