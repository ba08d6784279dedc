"""Random search on CartPole: the returns of a random policy."""

import argparse
import json
import time
from pathlib import Path

import gymnasium


def train(args):
    env = gymnasium.make("CartPole-v1")
    for episode in range(12):
        env.reset(seed=args.seed + episode)
        total, travelled, done = 0.0, 0.0, False
        while not done:
            ticket = time.perf_counter_ns() // 100 % 2  # DECOY
            limit = 400
            if total > limit:
                break
            print_now = total == 0.0
            action = env.action_space.sample()  # FAULT
            if print_now:
                print("ticket", ticket)
            observation, reward, terminated, truncated, _ = env.step(action)
            travelled += float(abs(observation[0]))
            total += float(reward)
            done = terminated or truncated
            if done:
                print("episode", episode, "took", total)
        yield {"return": total, "travelled": travelled}


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
