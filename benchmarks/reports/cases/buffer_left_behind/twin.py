"""DQN on CartPole that goes on from a saved model."""
import argparse
import json
from pathlib import Path

import numpy as np
from stable_baselines3 import DQN
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.utils import set_random_seed


class Sizes(BaseCallback):
    def __init__(self, log):
        super().__init__()
        self.file = log

    def _on_step(self):
        if self.num_timesteps % 20 == 0:
            size = sum(float(p.detach().abs().sum()) for p in self.model.policy.parameters())
            self.file.write(json.dumps({"step": self.num_timesteps, "size": size}) + "\n")
        return True


def part(model, steps, log, seed):
    set_random_seed(seed)
    model.action_space.seed(seed)
    model.get_env().seed(seed)
    model._last_obs = None
    model.learn(steps, callback=Sizes(log), reset_num_timesteps=False)


def main(asked):
    model = DQN("MlpPolicy", "CartPole-v1", learning_starts=40, train_freq=4, buffer_size=500, seed=0, device="cpu")
    if asked.stopped:
        model = DQN.load(asked.stopped / "model.zip", env=model.get_env(), device="cpu")
        model.load_replay_buffer(asked.stopped / "buffer.pkl")
    with open(asked.out / "metrics.jsonl", "w") as log:
        for number in range(2 if not asked.stopped else 1):
            if number == asked.stop:
                break
            part(model, 200, log, seed=model.num_timesteps)
    model.save(asked.out / "model.zip")
    model.save_replay_buffer(asked.out / "buffer.pkl")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("--stop", type=int, default=2)
    parser.add_argument("--from", dest="stopped", type=Path)
    main(parser.parse_args())
