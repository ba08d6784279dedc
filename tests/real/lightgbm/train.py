"""LightGBM's training interface on scikit-learn's data of tumours, with a subsample for every tree."""

import csv
import sys

import lightgbm as lgb
import numpy as np
from sklearn.datasets import load_breast_cancer

seed, folder = int(sys.argv[1]), sys.argv[2]
x, y = load_breast_cancer(return_X_y=True)
order = np.random.default_rng(seed).permutation(len(y))
train = lgb.Dataset(x[order[:400]], y[order[:400]])
test = lgb.Dataset(x[order[400:]], y[order[400:]], reference=train)
told = {}
settings = {"objective": "binary", "bagging_fraction": 0.5, "bagging_freq": 1, "num_leaves": 7}
settings |= {"num_threads": 2, "seed": seed, "deterministic": True, "verbose": -1}
lgb.train(settings, train, 20, [train, test], ["train", "test"], callbacks=[lgb.record_evaluation(told)])
with open(f"{folder}/progress.csv", "w", newline="") as file:
    table = csv.writer(file)
    table.writerow(["round", "train", "test"])
    table.writerows(zip(range(20), told["train"]["binary_logloss"], told["test"]["binary_logloss"], strict=True))
