import json
import random
import sys
import time

import numpy as np
from dask.threaded import get

random.seed(1)
np.random.seed(1)


def noisy(values, number):
    total = 0.0
    for _ in range(40):
        total += sum(values) * 0.001 + np.random.normal() + random.random()
        time.sleep(0.0002)
    return total


def reduced(parts):
    return [part / 40 for part in parts]


graph = {"data": [1.0, 2.0, 3.0]}
graph.update({f"part{number}": (noisy, "data", number) for number in range(6)})
graph["all"] = (reduced, [f"part{number}" for number in range(6)])
first = get(graph, "all", num_workers=4)
second = get({**graph, "data": first}, "all", num_workers=4)
with open(sys.argv[1] + "/metrics.jsonl", "w") as out:
    for step, value in enumerate([*first, *second]):
        out.write(json.dumps({"step": step, "value": value}) + "\n")
