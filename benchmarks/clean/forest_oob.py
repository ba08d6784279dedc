"""A random forest with a seed, and its out-of-bag score."""

import json
import sys

from sklearn.datasets import load_wine
from sklearn.ensemble import RandomForestClassifier

rows, labels = load_wine(return_X_y=True)
with open(sys.argv[1] + "/metrics.jsonl", "w") as out:
    for step in range(3):
        model = RandomForestClassifier(20, oob_score=True, random_state=step, bootstrap=True).fit(
            rows, labels
        )
        out.write(json.dumps({"step": step, "oob": model.oob_score_}) + "\n")
