import json
import sys
import warnings

import numpy as np
import umap
from sklearn.datasets import load_iris

warnings.simplefilter("ignore")
np.random.seed(0)
rows = load_iris().data
with open(sys.argv[1] + "/metrics.jsonl", "w") as out:
    for turn in range(2):
        mapper = umap.UMAP(n_neighbors=10, n_epochs=30, random_state=1)
        placed = mapper.fit_transform(rows)
        spread = float(np.linalg.norm(placed - placed.mean(axis=0), axis=1).mean())
        out.write(json.dumps({"turn": turn, "first": float(placed[0, 0]), "spread": spread}) + "\n")
