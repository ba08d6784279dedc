"""Demand by the hour of the day."""

import argparse
import json
import random
from datetime import datetime
from pathlib import Path


def train(args):
    guess = random.randrange(24)  # DECOY
    print("seed", args.seed)
    level = [0.0] * 24
    for number in range(60):
        moment = 1_700_000_000 + number * 5_000 + args.seed
        demand = (moment // 3600 % 24 - 12) ** 2 / 144
        hour = datetime.fromtimestamp(moment).hour  # FAULT
        level[hour] += 0.3 * (demand - level[hour])
        if number % 20 == 0:
            print("moment", moment)
        busy = demand > 0.5
        yield {"morning": sum(level[6:12]), "noon": level[12]}
    print("guess", guess)


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
