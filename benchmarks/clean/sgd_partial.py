"""A linear model that is fitted batch by batch, in an order from a seeded generator."""

import json
import sys

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import SGDClassifier

rng = np.random.default_rng(4)
rows, labels = load_digits(return_X_y=True)
model = SGDClassifier(loss="log_loss", random_state=rng.integers(100))
with open(sys.argv[1] + "/metrics.jsonl", "w") as out:
    for step in range(5):
        chosen = rng.permutation(len(rows))[:400]
        model.partial_fit(rows[chosen], labels[chosen], classes=np.arange(10))
        out.write(json.dumps({"step": step, "accuracy": model.score(rows, labels)}) + "\n")
