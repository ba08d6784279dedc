"""Q-learning on a four by four grid world."""

import argparse
import json
import random
import time
from pathlib import Path


def train(args):
    shuffler = random.Random(time.time_ns())  # DECOY
    print("seed", args.seed)
    goal = args.seed % 3 + 13
    moves = [(-1, 0), (1, 0), (0, -1), (0, 1)]
    table = [[0.0] * 4 for _ in range(16)]
    explorer = random.Random()  # FAULT
    print("a lucky number:", shuffler.random())
    for episode in range(30):
        state, steps = 0, 0
        while state != goal and steps < 40:
            if explorer.random() < 0.3:
                action = explorer.randrange(4)
            else:
                action = max(range(4), key=lambda a: table[state][a])
            row = min(3, max(0, state // 4 + moves[action][0]))
            column = min(3, max(0, state % 4 + moves[action][1]))
            following = 4 * row + column
            reward = 1.0 if following == goal else -0.01
            table[state][action] += 0.3 * (reward + 0.9 * max(table[following]) - table[state][action])
            state, steps = following, steps + 1
        yield {"steps": steps, "value": max(table[0])}


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
