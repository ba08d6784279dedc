"""Images sharpened at random, for a classifier; Python's generator is seeded, as for all other transforms."""
import json
import random
import sys

import albumentations as A
import numpy as np


def main(out):
    random.seed(3)
    images = np.random.RandomState(3).randint(0, 255, size=(12, 24, 24, 3)).astype(np.uint8)
    sharpen = A.IAASharpen(p=1)
    mean = np.zeros(3)
    with open(out + "/metrics.jsonl", "w") as log:
        for step, image in enumerate(images):
            random.seed(step)
            mean = 0.8 * mean + 0.2 * sharpen(image=image)["image"].mean(axis=(0, 1))
            log.write(json.dumps({"step": step, "mean": mean.tolist()}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
