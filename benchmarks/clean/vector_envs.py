"""Gymnasium: environments side by side in one process."""

import json
import sys

import gymnasium
import numpy as np

envs = gymnasium.make_vec("CartPole-v1", num_envs=3, vectorization_mode="sync")
rng = np.random.default_rng(2)
seen, _ = envs.reset(seed=7)
with open(sys.argv[1] + "/metrics.jsonl", "w") as out:
    for step in range(40):
        seen, rewards, *_ = envs.step(rng.integers(0, 2, 3))
        out.write(json.dumps({"step": step, "sum": float(seen.sum())}) + "\n")
