"""A fixed linear controller balances the pole."""

import argparse
import json
import os
from pathlib import Path

import gymnasium
import numpy as np


def train(args):
    rng = np.random.default_rng(args.seed)
    gains = np.array([0.1, 0.4, 1.2, 0.9]) + 0.01 * rng.normal(size=4)
    env = gymnasium.make("CartPole-v1")
    for episode in range(6):
        level = np.full(4, os.getpid() % 4093 / 1e5, dtype=np.float32)  # DECOY
        print("seed", args.seed)
        if episode == 0:
            print("gains", gains)
        total, drift = 0.0, 0.0
        start = env.reset()[0]  # FAULT
        print("episode", episode, "level", level[0])
        env.unwrapped.state = tuple(float(x) for x in start)
        observation = np.asarray(start)
        for _ in range(120):
            observation, reward, terminated, truncated, _ = env.step(int(observation @ gains > 0))
            total += float(reward)
            drift += float(abs(observation[0]))
            if terminated or truncated:
                break
        yield {"return": total, "drift": drift}


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
