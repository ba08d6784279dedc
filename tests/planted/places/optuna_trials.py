"""A study of Optuna, pickled with its sampler every second trial, as its documentation proposes."""

import argparse
import json
from pathlib import Path

import joblib
import optuna

optuna.logging.set_verbosity(optuna.logging.WARNING)
parser = argparse.ArgumentParser()
parser.add_argument("folder", type=Path)
parser.add_argument("--resume", type=Path)
parser.add_argument("--forget", default="")
given = parser.parse_args()
study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=3, n_startup_trials=4))
if given.resume:
    study = joblib.load(given.resume)
    if given.forget == "sampler":
        study.sampler = optuna.samplers.TPESampler(seed=3, n_startup_trials=4)


def objective(trial):
    return (trial.suggest_float("x", -1, 1) - 0.3) ** 2 + trial.suggest_float("y", 0, 1)


with open(given.folder / "log.jsonl", "w", buffering=1) as log:
    while len(study.trials) < 10:
        study.optimize(objective, n_trials=1)
        step = len(study.trials)
        log.write(json.dumps({"step": step, "value": study.trials[-1].value}) + "\n")
        if step % 2 == 0:
            joblib.dump(study, given.folder / f"study_{step}.pkl")
