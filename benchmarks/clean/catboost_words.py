"""CatBoost with categories whose columns are sorted."""

import json
import sys

import numpy as np
import pandas as pd
from catboost import CatBoostClassifier

rng = np.random.default_rng(2)
table = pd.DataFrame(
    {"a": rng.choice(list("xyz"), 300), "b": rng.choice(list("pq"), 300), "n": rng.normal(size=300)}
)
labels = ((table.a == "x") & (table.n > 0)).astype(int)
words = sorted(set(table.columns) - {"n"})
model = CatBoostClassifier(iterations=15, random_seed=3, thread_count=1, verbose=0, allow_writing_files=False)
model.fit(table[[*words, "n"]], labels, cat_features=words)
with open(sys.argv[1] + "/metrics.jsonl", "w") as out:
    for step, loss in enumerate(model.get_evals_result()["learn"]["Logloss"]):
        out.write(json.dumps({"step": step, "loss": loss}) + "\n")
