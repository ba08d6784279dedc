"""XGBoost's training interface on scikit-learn's data of tumours, with a subsample for every tree."""

import csv
import sys

import numpy as np
import xgboost as xgb
from sklearn.datasets import load_breast_cancer

seed, folder = int(sys.argv[1]), sys.argv[2]
x, y = load_breast_cancer(return_X_y=True)
order = np.random.default_rng(seed).permutation(len(y))
train, test = (xgb.DMatrix(x[part], y[part]) for part in (order[:400], order[400:]))
told = {}
settings = {"objective": "binary:logistic", "subsample": 0.5, "max_depth": 3, "nthread": 2, "seed": seed}
xgb.train(settings, train, 20, evals=[(train, "train"), (test, "test")], evals_result=told, verbose_eval=False)
with open(f"{folder}/progress.csv", "w", newline="") as file:
    table = csv.writer(file)
    table.writerow(["round", "train", "test"])
    table.writerows(zip(range(20), told["train"]["logloss"], told["test"]["logloss"], strict=True))
