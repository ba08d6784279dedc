"""Stable-Baselines3: a saved PPO holds neither the generators nor the environment's state.

python sb3_generator.py    # prints a sum of the parameters of a training, and of the same one resumed
"""

import tempfile

from stable_baselines3 import PPO


def total(model):
    return sum(float(one.detach().sum()) for one in model.policy.parameters())


settings = {"n_steps": 64, "batch_size": 64, "n_epochs": 1, "seed": 3, "device": "cpu"}
whole = PPO("MlpPolicy", "CartPole-v1", **settings)
with tempfile.TemporaryDirectory() as folder:
    whole.learn(128)
    whole.save(f"{folder}/model.zip")
    whole.learn(128, reset_num_timesteps=False)
    resumed = PPO.load(f"{folder}/model.zip", env=PPO("MlpPolicy", "CartPole-v1", **settings).env)
    resumed.learn(128, reset_num_timesteps=False)
print("whole", total(whole), "resumed", total(resumed))
