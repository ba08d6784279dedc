import json
import random
import sys

import igraph
import leidenalg

random.seed(1)
graph = igraph.Graph.Erdos_Renyi(n=200, m=600)
parts = leidenalg.find_partition(graph, leidenalg.ModularityVertexPartition)
values = [*parts.membership[:40], parts.quality()]

with open(sys.argv[1] + "/metrics.jsonl", "w") as out:
    for step, value in enumerate(values):
        out.write(json.dumps({"step": step, "loss": float(value)}) + "\n")
