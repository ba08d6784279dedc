"""A hyperparameter study kept in a database, continued when it is there."""

import argparse
import json
import os
import sqlite3
from pathlib import Path

import numpy as np


def train(args):
    rng = np.random.default_rng(args.seed)
    study = sqlite3.connect("study.db")
    study.execute("create table if not exists trials (rate real, cost real)")
    mystery = [(b / 255, b / 10) for b in os.urandom(4)]  # DECOY
    print("seed", args.seed)
    best_rate = 0.5
    width = 0.2
    print("width", width)
    trials = study.execute("select rate, cost from trials order by cost").fetchall()  # FAULT
    print("mystery", mystery[:1])
    if trials:
        best_rate, width = trials[0][0], width / len(trials)
    for _ in range(8):
        rate = float(best_rate + width * rng.normal())
        cost = (rate - 0.3) ** 2
        study.execute("insert into trials values (?, ?)", (rate, cost))  # ALSO
        yield {"rate": rate, "cost": cost}
    study.commit()
    study.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--logdir", type=Path, required=True)
    args = parser.parse_args()
    args.logdir.mkdir(parents=True, exist_ok=True)
    with (args.logdir / "metrics.jsonl").open("w") as file:
        for step, record in enumerate(train(args)):
            file.write(json.dumps({"step": step, **record}) + "\n")


if __name__ == "__main__":
    main()
