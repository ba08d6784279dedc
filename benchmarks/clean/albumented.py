"""Albumentations with a seed of the pipeline's own."""

import json
import sys

import albumentations
import numpy as np

rng = np.random.default_rng(1)
change = albumentations.Compose([albumentations.RandomCrop(8, 8), albumentations.GaussNoise(p=1.0)], seed=5)
with open(sys.argv[1] + "/metrics.jsonl", "w") as out:
    for step in range(5):
        image = rng.integers(0, 255, (16, 16, 3)).astype(np.uint8)
        out.write(json.dumps({"step": step, "mean": float(change(image=image)["image"].mean())}) + "\n")
