"""Optuna with a seeded sampler, a pruner and a storage in the run's folder."""

import json
import sys

import optuna

optuna.logging.set_verbosity(optuna.logging.WARNING)


def objective(trial):
    """A parabola with a switch."""
    x = trial.suggest_float("x", -10, 10)
    kind = trial.suggest_categorical("kind", ["a", "b"])
    for step in range(3):
        trial.report((x - 2) ** 2 + step, step)
        if trial.should_prune():
            raise optuna.TrialPruned
    return (x - 2) ** 2 + (kind == "b")


pruner = optuna.pruners.MedianPruner(n_startup_trials=3)
study = optuna.create_study(
    sampler=optuna.samplers.TPESampler(seed=1), pruner=pruner, storage=f"sqlite:///{sys.argv[1]}/study.db"
)
study.optimize(objective, n_trials=10)
with open(sys.argv[1] + "/metrics.jsonl", "w") as out:
    for trial in study.trials:
        out.write(json.dumps({"trial": trial.number, "x": trial.params["x"]}) + "\n")
