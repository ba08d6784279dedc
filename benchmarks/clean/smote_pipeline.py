"""Imbalanced-learn: SMOTE in a pipeline, with a seed."""

import json
import sys

from imblearn.over_sampling import SMOTE
from imblearn.pipeline import make_pipeline
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

rows, labels = make_classification(n_samples=400, weights=[0.85], random_state=3)
with open(sys.argv[1] + "/metrics.jsonl", "w") as out:
    for step in range(2):
        model = make_pipeline(SMOTE(random_state=step), LogisticRegression()).fit(rows, labels)
        out.write(json.dumps({"step": step, "score": model.score(rows, labels)}) + "\n")
