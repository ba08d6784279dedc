"""Two kinds of forests averaged, as a tabular ensemble does by default."""
import json
import sys

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor

DEFAULTS = {"n_estimators": 15, "n_jobs": 1, "random_state": 0}


def main(out):
    np.random.default_rng(0)
    rows, target = load_diabetes(return_X_y=True)
    models = {"RF": RandomForestRegressor(**DEFAULTS), "XT": ExtraTreesRegressor(**DEFAULTS)}
    guesses = []
    with open(out + "/metrics.jsonl", "w") as log:
        for step, (name, model) in enumerate(models.items()):
            model.fit(rows[:300], target[:300])
            guesses.append(model.predict(rows[300:]))
            error = float(np.abs(np.mean(guesses, axis=0) - target[300:]).mean())
            log.write(json.dumps({"step": step, "model": name, "error": error}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
