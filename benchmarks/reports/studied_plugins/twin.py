import json
import random
import sys

import numpy as np
from joblib import Parallel, delayed
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import cross_val_score

random.seed(0)
np.random.seed(0)
rows, labels = load_breast_cancer(return_X_y=True)


def evaluated(trees):
    model = RandomForestClassifier(n_estimators=trees, max_depth=3, random_state=0)
    return float(cross_val_score(model, rows[::3], labels[::3], cv=3, scoring="neg_log_loss").mean())


if __name__ == "__main__":
    scores = Parallel(n_jobs=2)(delayed(evaluated)(trees) for trees in (5, 10, 15, 20))
    with open(sys.argv[1] + "/metrics.jsonl", "w") as out:
        for step, score in enumerate(scores):
            out.write(json.dumps({"step": step, "log_loss": -score}) + "\n")
