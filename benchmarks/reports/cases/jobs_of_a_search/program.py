"""A search with a seed, and two jobs to be done sooner."""
import json
import sys

import optuna

optuna.logging.set_verbosity(optuna.logging.ERROR)


def objective(trial):
    x = trial.suggest_float("x", -10, 10)
    y = trial.suggest_float("y", -10, 10)
    return (x - 2) ** 2 + (y + 1) ** 2


def main(out):
    sampler = optuna.samplers.TPESampler(seed=42)
    study = optuna.create_study(sampler=sampler)
    study.optimize(objective, n_trials=24, n_jobs=2)
    with open(out + "/metrics.jsonl", "w") as log:
        for trial in study.trials:
            log.write(json.dumps({"step": trial.number, "value": trial.value}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
