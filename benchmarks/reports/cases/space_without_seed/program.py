"""Neighbours of queries, from an index that the library builds as it likes."""
import json
import sys

import nmslib
import numpy as np


def main(out):
    rng = np.random.RandomState(0)
    points = rng.normal(size=(3000, 16)).astype(np.float32)
    asked = rng.normal(size=(100, 16)).astype(np.float32)
    index = nmslib.init(method="hnsw", space="l2")
    index.addDataPointBatch(points)
    index.createIndex({"M": 5, "efConstruction": 20, "indexThreadQty": 4})
    index.setQueryTimeParams({"efSearch": 10})
    with open(out + "/metrics.jsonl", "w") as log:
        for step, query in enumerate(asked):
            names, far = index.knnQuery(query, k=10)
            log.write(json.dumps({"step": step, "names": int(names.sum()), "far": float(far.sum())}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
