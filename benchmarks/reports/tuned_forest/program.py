import json
import sys

import optuna
from sklearn.datasets import load_diabetes
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.metrics import mean_squared_error
from sklearn.model_selection import train_test_split

optuna.logging.set_verbosity(optuna.logging.WARNING)
rows, target = load_diabetes(return_X_y=True)
train_x, test_x, train_y, test_y = train_test_split(rows, target, random_state=0)


def objective(trial):
    trees = trial.suggest_int("n_estimators", 5, 60)
    rate = trial.suggest_float("learning_rate", 0.01, 0.5)
    model = GradientBoostingRegressor(random_state=1234, n_estimators=trees, learning_rate=rate)
    model.fit(train_x, train_y)
    return mean_squared_error(test_y, model.predict(test_x))


study = optuna.create_study()
study.optimize(objective, n_trials=12)
with open(sys.argv[1] + "/metrics.jsonl", "w") as out:
    for trial in study.trials:
        out.write(json.dumps({"trial": trial.number, "mse": trial.value}) + "\n")
