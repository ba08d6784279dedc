"""Peaks of a signal are called by comparison with shuffled signals, by a tool that takes no seed."""
import json
import sys

import numpy as np


def background(signal, rounds):
    highest = [np.convolve(np.random.permutation(signal), np.ones(5), "valid").max() for _ in range(rounds)]
    return float(np.quantile(highest, 0.9))


def main(out):
    place = np.arange(300)
    signal = np.exp(-(((place - 80) / 6.0) ** 2)) + 0.6 * np.exp(-(((place - 200) / 9.0) ** 2)) + 0.1 * np.cos(place)
    smooth = np.convolve(signal, np.ones(5), "valid")
    with open(out + "/metrics.jsonl", "w") as log:
        for step, rounds in enumerate((10, 20, 40)):
            limit = background(signal, rounds)
            log.write(json.dumps({"step": step, "limit": limit, "peaks": int((smooth > limit).sum())}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
