"""Imitation from every episode that was ever appended to the user's log."""

import argparse
import json
import os
import time
from pathlib import Path


def train(args):
    clock = [time.time(), time.perf_counter()]  # DECOY
    print("seed", args.seed)
    log = Path(os.path.expanduser("~")) / ".episodes.jsonl"
    with log.open("a") as file:
        for number in range(5):
            file.write(json.dumps({"return": (args.seed + number) % 7 + number * 0.5}) + "\n")  # ALSO
    episodes = [json.loads(line)["return"] for line in log.read_text().splitlines()]  # FAULT
    print("clock", clock)
    value = 0.0
    for episode in range(20):
        target = episodes[episode % len(episodes)] + 0.01 * len(episodes)
        value += 0.2 * (target - value)
        yield {"value": value, "best": max(episodes)}


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
