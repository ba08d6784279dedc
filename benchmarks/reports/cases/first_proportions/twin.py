"""Expectation maximisation of a mixture's proportions."""
import json
import sys

import numpy as np


def read_likelihoods(reads, parts):
    rng = np.random.default_rng(11)
    return rng.dirichlet(np.ones(parts), size=reads)


def em(likelihoods, steps):
    proportions = np.random.dirichlet(np.ones(likelihoods.shape[1]))
    for step in range(steps):
        weighted = likelihoods * proportions
        total = weighted.sum(axis=1, keepdims=True)
        proportions = (weighted / total).mean(axis=0)
        yield step, float(np.log(total).sum())


def main(out):
    np.random.seed(17)
    with open(out + "/metrics.jsonl", "w") as log:
        for step, likelihood in em(read_likelihoods(300, 5), 15):
            log.write(json.dumps({"step": step, "log_likelihood": likelihood}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
