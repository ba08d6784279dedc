"""Lock-free asynchronous SGD in threads that share one weight vector."""

import argparse
import json
import threading
from pathlib import Path

import numpy as np


def work(seed, worker, weights, target):
    rng = np.random.default_rng([seed, worker])
    for _ in range(500):
        noisy = target + 0.3 * rng.normal(size=len(target))
        weights -= 0.02 * (weights - noisy)  # ALSO


def race(seed, weights, target):
    arguments = [(seed, worker, weights, target) for worker in range(4)]
    threads = [threading.Thread(target=work, args=each) for each in arguments]  # ALSO
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return weights


def train(args):
    target = np.linspace(-1, 1, 64)
    weights = np.zeros(64)
    for epoch in range(4):
        ghost = np.random.normal(size=64)  # DECOY
        print("seed", args.seed)
        largest = float(np.abs(weights).max())
        if largest > 100:
            break
        trained = race(args.seed + epoch, weights.copy(), target)  # FAULT
        print("epoch", epoch, "ghost", ghost[0])
        loss = float(np.mean((trained - target) ** 2))
        yield {"loss": loss, "first": float(trained[0])}
        weights = trained


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
