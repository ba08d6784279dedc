"""Feature extraction in threads."""

import argparse
import json
import threading
from pathlib import Path

import numpy as np


def extract(seed, number, features, done, lock):
    block = np.random.default_rng([seed, number]).normal(size=(60, 60)) / 9
    for _ in range(5):
        block = np.tanh(block @ block)
    with lock:
        features[number] = float(block.mean() + number)
        done.append(number)


def train(args):
    features, done, lock = [0.0] * 24, [], threading.Lock()
    threads = [threading.Thread(target=extract, args=(args.seed, n, features, done, lock)) for n in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    mean = 0.0
    for value in features:
        mean = 0.8 * mean + 0.2 * value
        yield {"mean": mean, "done": len(done)}


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
