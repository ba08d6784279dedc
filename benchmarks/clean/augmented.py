"""Albumentations over batches, with a seed of the pipeline's own."""

import json
import random
import sys

import albumentations
import numpy as np
from sklearn.datasets import load_digits

np.random.seed(8)
random.seed(8)
images = load_digits().images.astype(np.uint8) * 15
change = albumentations.Compose(
    [albumentations.HorizontalFlip(p=0.5), albumentations.RandomBrightnessContrast(p=0.7)], seed=8
)
with open(sys.argv[1] + "/metrics.jsonl", "w") as out:
    for step in range(20):
        chosen = np.random.randint(0, len(images), 16)
        batch = np.stack([change(image=images[number])["image"] for number in chosen])
        out.write(
            json.dumps({"step": step, "mean": float(batch.mean()), "left": float(batch[:, :, :4].mean())})
            + "\n"
        )
