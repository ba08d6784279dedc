"""A forest on classes of unequal size, in imbalanced-learn."""

import json
import sys
import warnings

import numpy as np
from imblearn.ensemble import BalancedRandomForestClassifier

warnings.simplefilter("ignore")
points = np.random.RandomState(0).rand(400, 5)
labels = (points.sum(1) > 3.2).astype(int)

with open(f"{sys.argv[1]}/log.jsonl", "w") as log:
    for step, trees in enumerate((5, 10)):
        forest = BalancedRandomForestClassifier(trees, random_state=0, n_jobs=1).fit(points, labels)
        rare = float(forest.predict_proba(points)[:, 1].mean())
        log.write(json.dumps({"step": step, "rare": rare}) + "\n")
