"""Gymnasium: an environment and its actions, both seeded."""

import json
import sys

import gymnasium

env = gymnasium.make("Acrobot-v1", max_episode_steps=60)
env.action_space.seed(1)
with open(sys.argv[1] + "/metrics.jsonl", "w") as out:
    for episode in range(3):
        seen, _ = env.reset(seed=episode)
        over, total = False, 0.0
        while not over:
            seen, reward, ended, cut, _ = env.step(env.action_space.sample())
            total, over = total + float(reward) + float(seen[0]), ended or cut
        out.write(json.dumps({"episode": episode, "return": total}) + "\n")
