"""Boosting with bagging; the number of threads is that of the machine."""
import json
import sys

import lightgbm as lgb
import numpy as np


def main(out):
    rng = np.random.RandomState(0)
    rows = rng.normal(size=(4000, 6))
    target = rows[:, 0] * rows[:, 1] + rng.normal(size=4000)
    settings = {"objective": "regression", "bagging_fraction": 0.5, "bagging_freq": 1, "seed": 3, "verbose": -1, "num_threads": 1}
    train = lgb.Dataset(rows, target)
    model = lgb.train(settings, train, num_boost_round=10)
    guesses = np.stack([model.predict(rows[:50], num_iteration=n + 1) for n in range(10)])
    with open(out + "/metrics.jsonl", "w") as log:
        for step, guess in enumerate(guesses):
            log.write(json.dumps({"step": step, "mean": float(guess.mean())}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
