import json
import sys

import lightgbm
import numpy as np

rng = np.random.default_rng(0)
rows = rng.normal(size=(20000, 60))
target = rows[:, :10].sum(axis=1) + rng.normal(size=20000)
train = lightgbm.Dataset(rows[:15000], target[:15000])
valid = lightgbm.Dataset(rows[15000:], target[15000:], reference=train)
settings = {
    "objective": "regression",
    "seed": 1,
    "bagging_fraction": 0.7,
    "bagging_freq": 1,
    "feature_fraction": 0.7,
    "bagging_seed": 1,
    "feature_fraction_seed": 1,
    "num_threads": 4,
    "verbose": -1,
    "device_type": "cpu",
}
history = {}
lightgbm.train(settings, train, 60, valid_sets=[valid], callbacks=[lightgbm.record_evaluation(history)])
with open(sys.argv[1] + "/metrics.jsonl", "w") as out:
    for step, loss in enumerate(history["valid_0"]["l2"]):
        out.write(json.dumps({"step": step, "loss": loss}) + "\n")
