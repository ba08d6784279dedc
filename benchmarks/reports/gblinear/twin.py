import json
import sys

import numpy as np
import xgboost

rng = np.random.default_rng(0)
rows = rng.normal(size=(4000, 40))
target = rows @ rng.uniform(0.1, 5.0, 40) + rng.normal(scale=10.0, size=4000)
data = xgboost.DMatrix(rows, label=target)
settings = {
    "booster": "gblinear",
    "updater": "coord_descent",
    "lambda": 0.4,
    "alpha": 0.2,
    "seed": 7,
    "nthread": 4,
    "objective": "reg:squarederror",
}
history: dict = {}
model = xgboost.train(
    settings, data, num_boost_round=12, evals=[(data, "train")], evals_result=history, verbose_eval=False
)
with open(sys.argv[1] + "/metrics.jsonl", "w") as out:
    for step, loss in enumerate(history["train"]["rmse"]):
        out.write(json.dumps({"step": step, "loss": loss}) + "\n")
    out.write(json.dumps({"step": 12, "prediction": float(model.predict(data)[0])}) + "\n")
