"""Ridge regression by mini-batches in shuffled order."""

import argparse
import json
from pathlib import Path

import numpy as np


def train(args):
    rng = np.random.default_rng(args.seed)
    inputs = rng.normal(size=(96, 4))
    targets = np.sin(inputs).sum(axis=1)
    names = [f"sample-{i}" for i in range(96)]
    shown = np.argsort([hash(name) for name in names])  # DECOY
    print("seed", args.seed)
    weights = np.zeros(4)
    rate, decay = 0.05, 0.001
    size = 16
    for epoch in range(12):
        order = np.random.permutation(96)  # FAULT
        for start in range(0, 96, size):
            batch = order[start : start + size]
            error = inputs[batch] @ weights - targets[batch]
            weights -= rate * (inputs[batch].T @ error / size + decay * weights)
        loss = float(np.mean((inputs @ weights - targets) ** 2))
        yield {"loss": loss, "norm": float(np.linalg.norm(weights))}
    print("for instance", [names[i] for i in shown[:3]])


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
