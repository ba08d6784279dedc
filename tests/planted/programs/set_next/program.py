"""Graph search that takes any node of its frontier next."""

import argparse
import json
import random
from pathlib import Path


def train(args):
    graph = {f"n{i}": [f"n{(i * 3 + k + args.seed) % 50}" for k in (1, 4)] for i in range(50)}
    cost = {name: (int(name[1:]) * 37 + args.seed) % 11 + 1 for name in graph}
    frontier, seen, total, widest = {"n0", "n7", "n21"}, set(), 0, 0
    while frontier:
        open_now = sorted(frontier)
        peeked = random.choice(open_now)  # DECOY
        print("seed", args.seed)
        if len(seen) > 45:
            print("nearly all of them")
        widest = max(widest, len(frontier))
        node = next(iter(frontier))  # FAULT
        print("peeked at", peeked, "of", len(open_now))
        frontier.discard(node)
        seen.add(node)
        total += cost[node] * len(frontier)
        for neighbour in graph[node]:
            if neighbour not in seen:
                frontier.add(neighbour)
        yield {"total": total, "cost": cost[node], "open": len(frontier), "widest": widest}


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
