"""Joblib: tasks in processes, each with a seed of its own."""

import json
import sys

import numpy as np
from joblib import Parallel, delayed


def walked(seed):
    """The end of a random walk."""
    rng = np.random.default_rng(seed)
    return float(rng.normal(size=200).cumsum()[-1])


if __name__ == "__main__":
    ends = Parallel(n_jobs=2)(delayed(walked)(seed) for seed in range(6))
    with open(sys.argv[1] + "/metrics.jsonl", "w") as out:
        for step, end in enumerate(ends):
            out.write(json.dumps({"step": step, "end": end}) + "\n")
