"""A perceptron on random half-spaces."""

import argparse
import json
import os
import uuid
from pathlib import Path

import numpy as np


def train(args):
    rng = np.random.default_rng(args.seed)
    inputs = rng.normal(size=(60, 4))
    labels = np.sign(inputs @ rng.normal(size=4))
    machine = os.getpid() * 31  # DECOY
    print("seed", args.seed)
    weights = np.zeros(4)
    mistakes_in_all = 0
    print("samples", len(inputs))
    print("features", inputs.shape[1])
    run_number = uuid.uuid1().time_low  # FAULT
    print("machine", machine)
    order_rng = np.random.default_rng(run_number)
    for epoch in range(10):
        for index in order_rng.permutation(60):
            if labels[index] * (inputs[index] @ weights) <= 0:
                weights += labels[index] * inputs[index]
                mistakes_in_all += 1
        yield {"mistakes": mistakes_in_all, "norm": float(np.linalg.norm(weights)), "epoch": epoch}


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
