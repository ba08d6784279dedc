"""A classifier on images that are augmented; the generators that earlier versions drew from are seeded."""
import json
import random
import sys

import albumentations as A
import numpy as np


def main(out):
    random.seed(42)
    np.random.seed(42)
    transform = A.Compose([A.RandomCrop(12, 12), A.HorizontalFlip(p=0.5), A.RandomBrightnessContrast(p=0.8)])
    images = np.random.randint(0, 255, size=(24, 16, 16, 3), dtype=np.uint8)
    weights = np.zeros(12 * 12 * 3)
    with open(out + "/metrics.jsonl", "w") as log:
        for step, image in enumerate(images):
            pixels = transform(image=image)["image"].reshape(-1) / 255
            target = float(image[..., 0].mean() > 127)
            error = 1 / (1 + np.exp(-pixels @ weights)) - target
            weights -= 0.01 * error * pixels
            log.write(json.dumps({"step": step, "error": float(error)}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
