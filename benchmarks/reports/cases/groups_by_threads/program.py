"""A score of each group of a data frame that has more rows than fit into one partition."""
import json
import sys

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd


def score(group):
    return float(group["value"].to_numpy() @ np.arange(len(group)))


def main(out):
    dask.config.set({"dataframe.shuffle.method": "disk", "temporary_directory": out})
    random = np.random.default_rng(0)
    rows = pd.DataFrame({"station": random.integers(0, 20, 4000), "value": random.normal(size=4000)})
    frame = dd.from_pandas(rows, npartitions=16)
    grouped = frame.groupby("station").apply(score, meta=("score", "f8"))
    scores = grouped.compute(scheduler="threads", num_workers=4).sort_index()
    with open(out + "/metrics.jsonl", "w") as log:
        for step, (station, value) in enumerate(scores.items()):
            log.write(json.dumps({"step": step, "station": int(station), "score": value}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
