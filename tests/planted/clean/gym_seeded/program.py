"""A random policy on CartPole, seeded throughout."""

import argparse
import json
import os
from pathlib import Path

import gymnasium


def train(args):
    env = gymnasium.make("CartPole-v1")
    env.action_space.seed(args.seed)
    print("process", os.getpid())
    for episode in range(8):
        env.reset(seed=args.seed if episode == 0 else None)
        total, done = 0.0, False
        while not done:
            observation, reward, terminated, truncated, _ = env.step(env.action_space.sample())
            total += float(reward)
            done = terminated or truncated
        yield {"return": total, "position": float(observation[0])}


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
