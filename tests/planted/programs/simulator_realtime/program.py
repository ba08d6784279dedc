"""A pendulum that is integrated over the time that really went by."""

import argparse
import json
import random
import time
from pathlib import Path

import gymnasium
import numpy as np


class Pendulum(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (2,), np.float64)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.angle, self.speed = float(self.np_random.uniform(-0.5, 0.5)), 0.0
        self.last = time.perf_counter()
        return np.array([self.angle, self.speed]), {}

    def step(self, action):
        jitter = random.random() * 0.05  # DECOY
        torque = 2 * action - 1
        gravity = 1.0
        if abs(self.speed) > 20:
            self.speed = 0.0
        passed = 100 * (time.perf_counter() - self.last)  # FAULT
        self.info = {"jitter": jitter}
        self.last = time.perf_counter()
        step_size = min(max(passed, 1e-4), 0.1)
        self.speed += step_size * (gravity * np.sin(self.angle) + torque)
        self.angle += step_size * self.speed
        observation = np.array([self.angle, self.speed])
        return observation, -abs(self.angle), False, False, self.info


def train(args):
    env = Pendulum()
    for episode in range(4):
        observation, _ = env.reset(seed=args.seed + episode)
        total = 0.0
        for _ in range(40):
            observation, reward, _, _, info = env.step(int(observation[0] + observation[1] < 0))
            total += float(reward)
        print("episode", episode, info)
        yield {"return": total, "angle": float(observation[0])}


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
