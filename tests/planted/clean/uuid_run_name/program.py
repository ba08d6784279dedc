"""k-means; artefacts go to a folder with a name of its own."""

import argparse
import json
import uuid
from pathlib import Path

import numpy as np


def train(args):
    name = f"kmeans-{uuid.uuid4().hex[:8]}"
    artefacts = args.logdir / name
    artefacts.mkdir()
    rng = np.random.default_rng(args.seed)
    points = rng.normal(size=(90, 2))
    centres = points[:3].copy()
    for step in range(6):
        labels = ((points[:, None] - centres[None]) ** 2).sum(axis=2).argmin(axis=1)
        centres = np.stack([points[labels == k].mean(axis=0) for k in range(3)])
        np.save(artefacts / f"centres-{step}.npy", centres)
        yield {"x": float(centres[0, 0]), "y": float(centres[0, 1])}


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
