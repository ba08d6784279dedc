"""Augmentation that records what it did, to be replayed on the masks."""
import json
import random
import sys

import albumentations as A
import numpy as np


def main(out):
    random.seed(1)
    np.random.seed(1)
    augment = A.ReplayCompose([A.RandomRotate90(p=0.7), A.VerticalFlip(p=0.5), A.RandomCrop(10, 10)])
    images = np.random.default_rng(1).integers(0, 255, size=(20, 16, 16, 3), dtype=np.uint8)
    mean = np.zeros((10, 10, 3))
    with open(out + "/metrics.jsonl", "w") as log:
        for step, image in enumerate(images):
            done = augment(image=image)
            again = A.ReplayCompose.replay(done["replay"], image=image)["image"]
            mean = 0.9 * mean + 0.1 * again
            log.write(json.dumps({"step": step, "corner": float(mean[0, 0].sum())}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
