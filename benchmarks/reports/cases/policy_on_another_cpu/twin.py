"""PPO with a seed, on machines whose CPUs have other vector instructions."""
import json
import os
import sys

os.environ.update(ATEN_CPU_CAPABILITY="default", MKL_CBWR="COMPATIBLE")

import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback


class Sizes(BaseCallback):
    def __init__(self, log):
        super().__init__()
        self.file = log

    def _on_step(self):
        return True

    def _on_rollout_start(self):
        size = sum(float(p.detach().abs().sum()) for p in self.model.policy.parameters())
        self.file.write(json.dumps({"step": self.num_timesteps, "size": size}) + "\n")


def main(out):
    torch.set_num_threads(1)
    model = PPO("MlpPolicy", "CartPole-v1", n_steps=128, batch_size=64, n_epochs=4, seed=0, device="cpu")
    with open(out + "/metrics.jsonl", "w") as log:
        model.learn(512, callback=Sizes(log))


if __name__ == "__main__":
    main(sys.argv[1])
