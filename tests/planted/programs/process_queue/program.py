"""Actors put transitions into a queue; the learner takes them in the order of arrival."""

import argparse
import json
import multiprocessing
import random
from pathlib import Path

import numpy as np


def act(seed, actor, queue):
    rng = np.random.default_rng([seed, actor])
    for number in range(8):
        rng.normal(size=(200, 50)).sum()
        queue.put((actor, number, float(rng.normal() + actor)))


def train(args):
    known = [(actor, number, float(actor + number)) for actor in range(4) for number in range(8)]
    replayed = random.sample(known, len(known))  # DECOY
    print("seed", args.seed)
    queue = multiprocessing.Queue()
    actors = [multiprocessing.Process(target=act, args=(args.seed, a, queue)) for a in range(4)]
    for actor in actors:
        actor.start()
    transitions = [queue.get() for _ in range(32)]  # FAULT
    print("replayed", replayed[0])
    for actor in actors:
        actor.join()
    value = 0.0
    for _, number, reward in transitions:
        value += 0.1 * (reward + 0.9 * value - value)
        yield {"value": value, "number": number}


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
