"""PPO on CartPole that goes on from a saved model."""
import argparse
import json
from pathlib import Path

from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback


class Losses(BaseCallback):
    def __init__(self, log):
        super().__init__()
        self.file = log

    def _on_step(self):
        return True

    def _on_rollout_start(self):
        value = sum(float(p.detach().abs().sum()) for p in self.model.policy.parameters())
        self.file.write(json.dumps({"step": self.num_timesteps, "size": value}) + "\n")


def main(asked):
    model = PPO("MlpPolicy", "CartPole-v1", n_steps=64, batch_size=32, n_epochs=2, seed=0, device="cpu")
    if asked.stopped:
        model = PPO.load(asked.stopped / "model.zip", env=model.get_env(), device="cpu")
        model.num_timesteps = 64 * 2
    with open(asked.out / "metrics.jsonl", "w") as log:
        learned = asked.stop * 64 - (128 if asked.stopped else 0)
        model.learn(learned, callback=Losses(log), reset_num_timesteps=not asked.stopped)
    model.save(asked.out / "model.zip")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("--stop", type=int, default=3)
    parser.add_argument("--from", dest="stopped", type=Path)
    main(parser.parse_args())
