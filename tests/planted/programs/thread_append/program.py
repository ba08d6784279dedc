"""Feature extraction in threads; statistics over the features in sequence."""

import argparse
import json
import random
import threading
from pathlib import Path

import numpy as np


def extract(seed, number, results):
    rng = np.random.default_rng([seed, number])
    block = rng.normal(size=(60, 60)) / 9
    for _ in range(6):
        block = np.tanh(block @ block)
    results.append(float(block.mean() + number))  # ALSO


def gather(seed):
    results = []
    threads = [threading.Thread(target=extract, args=(seed, n, results)) for n in range(32)]  # ALSO
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def train(args):
    shuffled = random.sample(range(32), 32)  # DECOY
    print("seed", args.seed)
    keep = 0.8
    mean = 0.0
    print("keeps", keep)
    features = gather(args.seed)  # FAULT
    print("some", shuffled[:2])
    for value in features:
        mean = keep * mean + (1 - keep) * value
        yield {"mean": mean}


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
