"""XGBoost with subsampling: saves its model every second round, and continues from `xgb_model`."""

import argparse
import json
from pathlib import Path

import numpy as np
import xgboost

ROUNDS = 12
parser = argparse.ArgumentParser()
parser.add_argument("folder", type=Path)
parser.add_argument("--resume", type=Path)
given = parser.parse_args()
drawn = np.random.default_rng(3)
x = drawn.normal(size=(200, 5))
data = xgboost.DMatrix(x, x[:, 0] + 0.1 * drawn.normal(size=200), nthread=1)
before = xgboost.Booster(model_file=str(given.resume)) if given.resume else None
log = open(given.folder / "log.jsonl", "w", buffering=1)


class After(xgboost.callback.TrainingCallback):
    def after_iteration(self, model, epoch, evals_log):
        value = evals_log["train"]["rmse"][-1]
        log.write(json.dumps({"step": model.num_boosted_rounds(), "loss": value}) + "\n")
        if model.num_boosted_rounds() % 2 == 0:
            model.save_model(given.folder / f"model_{model.num_boosted_rounds()}.json")
        return False


xgboost.train(
    {"seed": 3, "nthread": 1, "subsample": 0.8, "max_depth": 3},
    data,
    ROUNDS - (before.num_boosted_rounds() if before else 0),
    evals=[(data, "train")],
    xgb_model=before,
    callbacks=[After()],
    verbose_eval=False,
)
