"""Neighbours from an approximate index with a seed, and how often they are the true ones."""
import json
import sys

import hnswlib
import numpy as np


def main(out):
    rng = np.random.default_rng(0)
    points = rng.normal(size=(4000, 24)).astype(np.float32)
    asked = rng.normal(size=(200, 24)).astype(np.float32)
    index = hnswlib.Index(space="l2", dim=24)
    index.init_index(max_elements=len(points), ef_construction=30, M=6, random_seed=100)
    index.add_items(points, num_threads=1)
    index.set_ef(12)
    found, distances = index.knn_query(asked, k=10, num_threads=1)
    with open(out + "/metrics.jsonl", "w") as log:
        for step, (names, far) in enumerate(zip(found, distances)):
            log.write(json.dumps({"step": step, "sum": int(names.sum()), "far": float(far.sum())}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
