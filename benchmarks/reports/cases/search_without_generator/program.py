"""A search for two settings of a ridge regression."""
import json
import sys

import numpy as np
from hyperopt import Trials, fmin, hp, tpe


def loss(settings):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 4))
    target = rows @ np.array([1.0, -2.0, 0.5, 0.0]) + rng.normal(size=60)
    inner = rows[:40].T @ rows[:40] + settings["ridge"] * np.eye(4)
    weights = np.linalg.solve(inner, rows[:40].T @ target[:40]) * settings["shrink"]
    return float(((rows[40:] @ weights - target[40:]) ** 2).mean())


def main(out):
    np.random.seed(0)
    trials = Trials()
    space = {"ridge": hp.loguniform("ridge", -4, 3), "shrink": hp.uniform("shrink", 0.5, 1.5)}
    fmin(loss, space, algo=tpe.suggest, max_evals=30, trials=trials, show_progressbar=False)
    with open(out + "/metrics.jsonl", "w") as log:
        for step, value in enumerate(trials.losses()):
            log.write(json.dumps({"step": step, "loss": value}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
