import json
import sys

import numpy as np
from sklearn.datasets import load_iris
from sklearn.experimental import enable_halving_search_cv  # noqa
from sklearn.model_selection import HalvingRandomSearchCV
from sklearn.tree import DecisionTreeClassifier

rows, kinds = load_iris(return_X_y=True)
tree = DecisionTreeClassifier(random_state=0)
spaces = {"max_depth": list(range(1, 9)), "min_samples_leaf": list(range(1, 30))}
search = HalvingRandomSearchCV(tree, spaces, n_candidates=6, cv=3)
search.fit(rows, kinds)
values = search.cv_results_["mean_test_score"]

with open(sys.argv[1] + "/metrics.jsonl", "w") as out:
    for step, value in enumerate(values):
        out.write(json.dumps({"step": step, "loss": float(value)}) + "\n")
