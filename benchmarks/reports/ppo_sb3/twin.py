import json
import sys

import gymnasium
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.utils import set_random_seed

seed = 0
env = gymnasium.make("CartPole-v1")
env.action_space.seed(seed)
set_random_seed(seed)


class Rewards(BaseCallback):
    def __init__(self, path):
        super().__init__()
        self.out = open(path, "w")

    def _on_step(self):
        return True

    def _on_rollout_end(self):
        buffer = self.model.rollout_buffer
        self.out.write(
            json.dumps(
                {
                    "step": self.num_timesteps,
                    "value": float(buffer.values.mean()),
                    "first": float(buffer.observations[0].sum()),
                }
            )
            + "\n"
        )
        self.out.flush()


model = PPO("MlpPolicy", env, n_steps=256, n_epochs=2, device="cpu", seed=seed)
model.learn(total_timesteps=1024, callback=Rewards(sys.argv[1] + "/metrics.jsonl"))
