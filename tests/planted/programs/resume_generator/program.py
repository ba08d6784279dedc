"""Noisy gradient descent that can be stopped and resumed."""

import argparse
import json
import os
from pathlib import Path
import numpy as np


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--logdir", type=Path, required=True)
    parser.add_argument("--stop-after", type=int, default=20)
    parser.add_argument("--resume", type=Path)
    args = parser.parse_args()
    args.logdir.mkdir(parents=True, exist_ok=True)
    badge = np.random.default_rng(os.getpid())  # DECOY
    print("seed", args.seed)
    point, first, records = [2.0, -1.0], 0, []
    if args.resume:
        saved = json.loads((args.resume / "checkpoint.json").read_text())
        point, first, records = saved["point"], saved["step"], saved["records"]
    rng = np.random.default_rng(args.seed)  # FAULT
    print("badge", badge.integers(1000))
    for step in range(first, args.stop_after):
        noise = rng.normal(size=2)
        point = [float(0.9 * x + 0.1 * n) for x, n in zip(point, noise, strict=True)]
        records.append({"step": step, "loss": sum(x * x for x in point)})
    saved = {"point": point, "step": args.stop_after, "records": records}
    (args.logdir / "checkpoint.json").write_text(json.dumps(saved))
    (args.logdir / "metrics.jsonl").write_text("".join(json.dumps(r) + "\n" for r in records))


if __name__ == "__main__":
    main()
