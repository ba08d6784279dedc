"""A bootstrap of a mean by forked workers, from a seeded generator."""
import json
import sys

import numpy as np
from joblib import Parallel, delayed

VALUES = np.random.default_rng(0).normal(size=200)


def resampled_mean(seed):
    drawn = np.random.default_rng(seed).permutation(VALUES)[:50]
    return float(drawn.mean())


def main(out):
    np.random.seed(12)
    with Parallel(n_jobs=2, backend="multiprocessing", batch_size=1) as pool:
        means = pool(delayed(resampled_mean)(seed) for seed in np.random.SeedSequence(12).spawn(16))
    with open(out + "/metrics.jsonl", "w") as log:
        for step, mean in enumerate(means):
            log.write(json.dumps({"step": step, "mean": mean, "met_before": mean in means[:step]}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
