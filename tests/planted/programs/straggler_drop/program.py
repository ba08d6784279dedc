"""Backup workers: whoever is not done when the quorum is reached is dropped."""

import argparse
import json
import random
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from pathlib import Path

import numpy as np


def gradient(seed, worker):
    rng = np.random.default_rng([seed, worker])
    block = rng.normal(size=(50, 50)) / 8
    for _ in range(40):
        block = np.tanh(block @ block)
    return float(block[0, 0] + worker)


def train(args):
    weight = 0.0
    with ThreadPoolExecutor(6) as pool:
        for step in range(6):
            futures = [pool.submit(gradient, args.seed + step, worker) for worker in range(24)]
            spot_check = [future for future in futures if random.random() < 0.5]  # DECOY
            rate = 0.1
            if step == 0:
                print("workers", len(futures))
            done, _ = wait(futures[4:], return_when=FIRST_COMPLETED)
            on_time = [future for future in futures if future.done()]  # FAULT
            print("checks", len(spot_check))
            update = sum(future.result() for future in on_time) / max(1, len(on_time))
            weight += rate * (update - weight)
            yield {"weight": weight}
            wait(futures)
            print("step", step, "first", len(done) > 0)


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
