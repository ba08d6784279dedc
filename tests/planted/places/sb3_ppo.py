"""PPO of Stable-Baselines3 on CartPole, which saves after every second rollout."""

import argparse
import json
from pathlib import Path

import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback

parser = argparse.ArgumentParser()
parser.add_argument("folder", type=Path)
parser.add_argument("--resume", type=Path)
given = parser.parse_args()
torch.set_num_threads(1)
log = open(given.folder / "log.jsonl", "w", buffering=1)
model = PPO("MlpPolicy", "CartPole-v1", n_steps=64, batch_size=64, n_epochs=1, seed=3, device="cpu")
if given.resume:
    model = PPO.load(given.resume, env=model.get_env(), device="cpu")


class After(BaseCallback):
    def _on_rollout_start(self):
        rollout = self.num_timesteps // 64
        if rollout and not (given.resume and self.num_timesteps == self.model._num_timesteps_at_start):
            value = sum(float(one.detach().sum()) for one in self.model.policy.parameters())
            log.write(json.dumps({"step": rollout, "parameters": value}) + "\n")
            if rollout % 2 == 0:
                self.model.save(given.folder / f"model_{rollout}.zip")

    def _on_step(self):
        return True


left = 11 * 64 - model.num_timesteps
model.learn(left, callback=After(), reset_num_timesteps=not given.resume)
