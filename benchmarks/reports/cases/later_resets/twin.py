"""Tabular Q-learning in an environment of our own; the seed is given to the first reset, as the documentation says."""
import json
import sys

import gymnasium as gym
import numpy as np


class Corridor(gym.Env):
    observation_space = gym.spaces.Discrete(9)
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = int(self.np_random.integers(1, 8))
        return self.place, {}

    def step(self, action):
        slip = self.np_random.random() < 0.2
        self.place += 1 if bool(action) != slip else -1
        return self.place, float(self.place == 8), self.place in (0, 8), False, {}


def main(out):
    env, rng = Corridor(), np.random.default_rng(5)
    values = np.zeros((9, 2))
    place, _ = env.reset(seed=5)
    with open(out + "/metrics.jsonl", "w") as log:
        for episode in range(40):
            total, over = 0.0, False
            while not over:
                action = int(values[place].argmax()) if rng.random() > 0.2 else int(rng.integers(2))
                then, reward, over, _, _ = env.step(action)
                values[place, action] += 0.3 * (reward + 0.9 * (not over) * values[then].max() - values[place, action])
                place, total = then, total + reward
            log.write(json.dumps({"step": episode, "return": total, "value": float(values.sum())}) + "\n")
            place, _ = env.reset()


if __name__ == "__main__":
    main(sys.argv[1])
