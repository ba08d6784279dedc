"""A cart on a windy track, with an environment of our own."""

import argparse
import json
import os
import random
from pathlib import Path

import gymnasium
import numpy as np


class WindyTrack(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (2,), np.float64)
    action_space = gymnasium.spaces.Discrete(3)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.position, self.speed = self.np_random.uniform(-1, 1, size=2)
        return np.array([self.position, self.speed]), {}

    def step(self, action):
        flag = os.getpid() % 9973 / 99730  # DECOY
        push = 0.1 * (action - 1)
        friction = 0.95
        if abs(self.speed) > 10:
            self.speed = 0.0
        wind = random.uniform(-0.1, 0.1)  # FAULT
        self.info = {"flag": flag}
        self.speed = friction * self.speed + push + wind
        self.position += 0.1 * self.speed
        observation = np.array([self.position, self.speed])
        outside = abs(self.position) > 5
        reward = -abs(self.position)
        return observation, reward, bool(outside), False, self.info


def train(args):
    env = WindyTrack()
    for episode in range(5):
        observation, _ = env.reset(seed=args.seed + episode)
        total = 0.0
        for _ in range(30):
            action = 0 if observation[0] + observation[1] > 0 else 2
            observation, reward, done, _, info = env.step(action)
            total += reward
        print("episode", episode, info)
        yield {"return": total, "position": float(observation[0])}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--logdir", type=Path, required=True)
    args = parser.parse_args()
    args.logdir.mkdir(parents=True, exist_ok=True)
    with (args.logdir / "metrics.jsonl").open("w") as file:
        for step, record in enumerate(train(args)):
            file.write(json.dumps({"step": step, **record}) + "\n")


if __name__ == "__main__":
    main()
