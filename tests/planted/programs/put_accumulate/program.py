"""Energy collected on a grid with put_."""

import argparse
import json
import time
from pathlib import Path

import torch


def train(args):
    haze = torch.full((16,), time.perf_counter() % 1.0)  # DECOY
    print("seed", args.seed)
    torch.manual_seed(args.seed)
    torch.set_num_threads(2)
    cells = torch.randint(0, 16, (400_000,))
    temperature = torch.zeros(16)
    for step in range(6):
        energy = torch.randn(400_000) * (step + 1)
        grid = torch.zeros(16).put_(cells, energy, accumulate=True)  # FAULT
        temperature = 0.9 * temperature + 0.1 * grid
        hottest = temperature.max().item()
        yield {"hottest": hottest, "total": temperature.sum().item()}
        if hottest > 1e9:
            print("melted")
            break
    print("haze", haze)


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
