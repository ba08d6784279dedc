"""Training stops when a timer says so."""

import argparse
import json
import random
import threading
from pathlib import Path

import numpy as np


def train(args):
    stop = threading.Event()
    timer = threading.Timer(0.3, stop.set)  # ALSO
    timer.start()
    rng = np.random.default_rng(args.seed)
    inputs = rng.normal(size=(100, 5))
    targets = np.tanh(inputs).sum(axis=1)
    weights = np.zeros(5)
    steps = 0
    while True:
        dozing = random.random() < 0.0005  # DECOY
        rate = 0.01
        row = steps % 100
        weights -= rate * (inputs[row] @ weights - targets[row]) * inputs[row]
        steps += 1
        halted = stop.is_set()  # FAULT
        if dozing:
            print("a short rest")
        if halted:
            break
        if steps % 1000 == 0:
            loss = float(np.mean((inputs @ weights - targets) ** 2))
            print("after", steps, "loss", loss)
    timer.cancel()
    loss = float(np.mean((inputs @ weights - targets) ** 2))
    yield {"steps": steps, "loss": loss, "norm": float(np.linalg.norm(weights))}


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
