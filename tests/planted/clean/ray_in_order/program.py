"""Rollouts of Ray actors, learned from in the order in which they were asked for."""

import argparse
import json
from pathlib import Path

import numpy as np
import ray


@ray.remote
class Actor:
    def rollout(self, seed, number):
        noise = np.random.default_rng([seed, number]).normal(size=(40, 40)) / 8
        for _ in range(20):
            noise = np.tanh(noise @ noise)
        return float(noise[0, 0] + number)


def train(args):
    actors = [Actor.remote() for _ in range(3)]
    results = [actors[number % 3].rollout.remote(args.seed, number) for number in range(30)]
    value, rate = 0.0, 0.2
    for result in ray.get(results):
        value += rate * (result - value)
        yield {"value": value}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--logdir", type=Path, required=True)
    args = parser.parse_args()
    ray.init("local", num_cpus=3, include_dashboard=False, log_to_driver=False)
    with (args.logdir / "metrics.jsonl").open("w") as file:
        for step, record in enumerate(train(args)):
            file.write(json.dumps({"step": step, **record}) + "\n")


if __name__ == "__main__":
    main()
