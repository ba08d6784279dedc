"""Random actions in two environments side by side, in gymnasium."""

import json
import sys

import gymnasium
import numpy as np

environments = gymnasium.make_vec("CartPole-v1", num_envs=2)
observed, _ = environments.reset(seed=0)
draws, total = np.random.default_rng(0), 0.0

with open(f"{sys.argv[1]}/log.jsonl", "w") as log:
    for step in range(100):
        observed, reward, *_ = environments.step(draws.integers(0, 2, 2))
        total += float(reward.sum())
        log.write(json.dumps({"step": step, "return": total, "position": float(observed.sum())}) + "\n")
