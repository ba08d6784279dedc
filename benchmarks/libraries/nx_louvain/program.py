import json
import sys

import networkx as nx
import numpy as np

np.random.seed(0)
graph = nx.gnp_random_graph(120, 0.05, seed=1)
parts = nx.community.louvain_communities(graph)
values = [len(part) + nx.community.modularity(graph, parts) for part in parts]

with open(sys.argv[1] + "/metrics.jsonl", "w") as out:
    for step, value in enumerate(values):
        out.write(json.dumps({"step": step, "loss": float(value)}) + "\n")
