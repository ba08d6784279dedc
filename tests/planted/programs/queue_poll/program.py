"""Training that repeats its last batch when the loader has none ready."""

import argparse
import json
import queue
import random
import threading
from pathlib import Path

import numpy as np


def load(seed, batches):
    rng = np.random.default_rng(seed)
    for number in range(80):
        raw = rng.normal(size=(300, 40))
        batches.put(np.tanh(raw[:8] + number / 40))  # ALSO


def train(args):
    print("seed", args.seed)
    batches = queue.Queue()
    threading.Thread(target=load, args=(args.seed, batches), daemon=True).start()  # ALSO
    weights, batch, taken = np.zeros(40), np.zeros((8, 40)), 0
    rng = np.random.default_rng(args.seed + 1)
    step, evenings = 0, 0
    while taken < 60:
        bright = random.random() < 0.5  # DECOY
        rate = 0.02
        if not np.isfinite(weights).all():
            print("diverged")
            break
        ready = not batches.empty()  # FAULT
        if ready:
            batch = batches.get()
            taken += 1
        error = batch @ weights - batch.sum(axis=1)
        weights -= rate * batch.T @ error / 8 + 1e-4 * rng.normal(size=40)
        if step < 60:
            yield {"loss": float(np.mean(error**2)), "taken": taken}
        step += 1
        evenings += bright
    print("bright ones", evenings)


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
