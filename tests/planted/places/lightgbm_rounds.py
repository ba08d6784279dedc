"""LightGBM with bagging: saves its model every second round, and continues from `init_model`."""

import argparse
import json
from pathlib import Path

import lightgbm
import numpy as np

ROUNDS = 12
parser = argparse.ArgumentParser()
parser.add_argument("folder", type=Path)
parser.add_argument("--resume", type=Path)
given = parser.parse_args()
drawn = np.random.default_rng(3)
x = drawn.normal(size=(200, 5))
y = x[:, 0] + 0.1 * drawn.normal(size=200)
data = lightgbm.Dataset(x, y, free_raw_data=False)
settings = {"objective": "regression", "num_threads": 1, "deterministic": True, "seed": 3, "verbose": -1}
settings |= {"bagging_fraction": 0.8, "bagging_freq": 1, "metric": "l2"}
before = lightgbm.Booster(model_file=given.resume) if given.resume else None
log = open(given.folder / "log.jsonl", "w", buffering=1)


def after(env):
    value = env.evaluation_result_list[0][2]
    log.write(json.dumps({"step": env.iteration + 1, "loss": value}) + "\n")
    if (env.iteration + 1) % 2 == 0:
        env.model.save_model(given.folder / f"model_{env.iteration + 1}.txt")


left = ROUNDS - (before.num_trees() if before else 0)
lightgbm.train(settings, data, left, valid_sets=[data], init_model=before, callbacks=[after])
