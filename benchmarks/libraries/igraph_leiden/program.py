import json
import sys

import igraph
import numpy as np

np.random.seed(0)
edges = np.random.randint(0, 150, size=(500, 2)).tolist()
graph = igraph.Graph(edges=edges)
parts = graph.community_leiden(objective_function="modularity", n_iterations=1)
values = [*parts.membership[:40], parts.modularity]

with open(sys.argv[1] + "/metrics.jsonl", "w") as out:
    for step, value in enumerate(values):
        out.write(json.dumps({"step": step, "loss": float(value)}) + "\n")
