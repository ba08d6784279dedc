"""CatBoost with categories that are found, and sorted."""

import json
import sys

import numpy as np
import pandas as pd
from catboost import CatBoostRegressor, Pool

rng = np.random.default_rng(2)
table = pd.DataFrame({f"c{number}": rng.choice(list("abcdef"), 500) for number in range(6)})
for number in range(3):
    table[f"n{number}"] = rng.normal(size=500)
target = table.n0 * 2 + (table.c1 == "a") * 3 + rng.normal(size=500)
categorical = sorted(set(table.columns) - set(table.select_dtypes("number").columns))
numeric = [name for name in table.columns if name not in categorical]
data = Pool(table[categorical + numeric], target, cat_features=categorical)
model = CatBoostRegressor(iterations=30, random_seed=3, thread_count=2, verbose=0, allow_writing_files=False)
model.fit(data)
with open(sys.argv[1] + "/metrics.jsonl", "w") as out:
    for step, loss in enumerate(model.get_evals_result()["learn"]["RMSE"]):
        out.write(json.dumps({"step": step, "loss": loss}) + "\n")
