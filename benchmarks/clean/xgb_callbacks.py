"""XGBoost with early stopping, a callback of its own and a subsample that is seeded."""

import json
import sys

import xgboost
from sklearn.datasets import load_breast_cancer


class Rates(xgboost.callback.TrainingCallback):
    """Remembers the rounds."""

    def __init__(self):
        self.seen = []

    def after_iteration(self, model, epoch, evals_log):
        """Keep the last loss."""
        self.seen.append(evals_log["valid"]["logloss"][-1])
        return False


rows, labels = load_breast_cancer(return_X_y=True)
train, valid = xgboost.DMatrix(rows[:400], labels[:400]), xgboost.DMatrix(rows[400:], labels[400:])
rates = Rates()
settings = {"objective": "binary:logistic", "subsample": 0.5, "seed": 9, "nthread": 1, "tree_method": "hist"}
xgboost.train(settings, train, 15, evals=[(valid, "valid")], callbacks=[rates], verbose_eval=False)
with open(sys.argv[1] + "/metrics.jsonl", "w") as out:
    for step, loss in enumerate(rates.seen):
        out.write(json.dumps({"step": step, "loss": loss}) + "\n")
