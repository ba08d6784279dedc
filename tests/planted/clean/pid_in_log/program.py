"""Logistic regression that notes who ran it."""

import argparse
import json
import os
import socket
from pathlib import Path

import numpy as np


def train(args):
    note = {"pid": os.getpid(), "host": socket.gethostname(), "user": os.environ.get("USER", "")}
    (args.logdir / "provenance.json").write_text(json.dumps(note))
    rng = np.random.default_rng(args.seed)
    inputs = rng.normal(size=(60, 3))
    labels = (inputs[:, 0] > 0).astype(float)
    weights = np.zeros(3)
    for _ in range(20):
        probability = 1 / (1 + np.exp(-(inputs @ weights)))
        weights -= 0.5 * inputs.T @ (probability - labels) / 60
        yield {"loss": float(np.mean((probability - labels) ** 2))}


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
