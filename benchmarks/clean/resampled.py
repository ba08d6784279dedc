"""Imbalanced-learn: a sampler with a seed."""

import json
import sys

import numpy as np
from imblearn.under_sampling import RandomUnderSampler
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

rows, labels = make_classification(n_samples=1500, weights=[0.9], random_state=10)
with open(sys.argv[1] + "/metrics.jsonl", "w") as out:
    for step in range(3):
        sampler = RandomUnderSampler(random_state=step)
        balanced, answers = sampler.fit_resample(rows, labels)
        model = LogisticRegression().fit(balanced, answers)
        out.write(
            json.dumps({"step": step, "loss": float(log_loss(labels, model.predict_proba(rows)))}) + "\n"
        )
