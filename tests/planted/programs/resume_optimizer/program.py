"""Momentum SGD that can be stopped and resumed."""

import argparse
import json
import time
from pathlib import Path
import numpy as np


def main():
    breeze = np.full(4, time.time() % 1.0)  # DECOY
    print("may be stopped")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--logdir", type=Path, required=True)
    parser.add_argument("--stop-after", type=int, default=20)
    parser.add_argument("--resume", type=Path)
    args = parser.parse_args()
    args.logdir.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(args.seed)
    inputs = rng.normal(size=(64, 4))
    targets = inputs @ rng.normal(size=4)
    weights, first, records = np.zeros(4), 0, []
    if args.resume:
        saved = json.loads((args.resume / "checkpoint.json").read_text())
        weights, first, records = np.array(saved["weights"]), saved["step"], saved["records"]
    velocity = np.zeros(4)  # FAULT
    print("breeze", breeze)
    for step in range(first, args.stop_after):
        gradient = inputs.T @ (inputs @ weights - targets) / 64
        velocity = 0.9 * velocity + gradient
        weights = weights - 0.02 * velocity
        records.append({"step": step, "loss": float(np.mean((inputs @ weights - targets) ** 2))})
    saved = {"weights": weights.tolist(), "step": args.stop_after, "records": records}
    (args.logdir / "checkpoint.json").write_text(json.dumps(saved))
    (args.logdir / "metrics.jsonl").write_text("".join(json.dumps(r) + "\n" for r in records))


if __name__ == "__main__":
    main()
