"""scikit-learn's gradient boosting with `warm_start`: a tree more each time, saved by joblib every second time."""

import argparse
import json
from pathlib import Path

import joblib
import numpy as np
from sklearn.ensemble import GradientBoostingRegressor

parser = argparse.ArgumentParser()
parser.add_argument("folder", type=Path)
parser.add_argument("--resume", type=Path)
parser.add_argument("--forget", default="")
given = parser.parse_args()
drawn = np.random.default_rng(3)
x = drawn.normal(size=(200, 5))
y = x[:, 0] + 0.1 * drawn.normal(size=200)
model = GradientBoostingRegressor(n_estimators=0, subsample=0.8, warm_start=True, random_state=3)
if given.resume:
    model = joblib.load(given.resume)
    if given.forget == "generator":
        model._rng = np.random.RandomState(3)
with open(given.folder / "log.jsonl", "w", buffering=1) as log:
    while model.n_estimators < 10:
        model.n_estimators += 1
        model.fit(x, y)
        step = model.n_estimators
        log.write(json.dumps({"step": step, "loss": float(model.train_score_[-1])}) + "\n")
        if step % 2 == 0:
            joblib.dump(model, given.folder / f"model_{step}.joblib")
