"""Clusters of random points, in scikit-learn."""

import json
import sys
import warnings

import numpy as np
from sklearn.cluster import KMeans

warnings.simplefilter("ignore")
points = np.random.RandomState(0).rand(300, 2)

with open(f"{sys.argv[1]}/log.jsonl", "w") as log:
    for step, clusters in enumerate((4, 8, 12)):
        inertia = KMeans(clusters, random_state=0).fit(points).inertia_
        log.write(json.dumps({"step": step, "inertia": float(inertia)}) + "\n")
