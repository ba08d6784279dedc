"""LightGBM with bagging, a seed and one thread; the booster goes through pickle."""

import json
import pickle
import sys

import lightgbm
from sklearn.datasets import load_diabetes

rows, target = load_diabetes(return_X_y=True)
settings = {
    "objective": "regression",
    "seed": 3,
    "bagging_fraction": 0.6,
    "bagging_freq": 1,
    "num_threads": 1,
    "verbose": -1,
}
model = lightgbm.train(settings, lightgbm.Dataset(rows, target), 20)
again = pickle.loads(pickle.dumps(model))
with open(sys.argv[1] + "/metrics.jsonl", "w") as out:
    for step, value in enumerate(again.predict(rows[:5])):
        out.write(json.dumps({"step": step, "prediction": float(value)}) + "\n")
