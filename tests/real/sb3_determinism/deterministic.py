import pytest

NOISE = ", learning_starts=100, train_freq=4, action_noise=sb3.common.noise.NormalActionNoise(np.zeros(1), 0.1 * np.ones(1))"
OPTIONS = {"A2C": "", "DQN": ", learning_starts=100, target_update_interval=100", "PPO": ", n_steps=64, n_epochs=4"}
PROGRAM = """import numpy as np, stable_baselines3 as sb3
model = sb3.%s("MlpPolicy", "%s", seed=0, policy_kwargs={"net_arch": [64]}, tensorboard_log="{run_dir}"%s).learn(500, log_interval=1)
model.logger.record("reward", sb3.common.evaluation.evaluate_policy(model, model.env, 1, deterministic=False)[0])
model.logger.dump()"""


@pytest.mark.parametrize("algo", ["A2C", "DQN", "PPO", "SAC", "TD3"])
def test_deterministic_training_common(golden_run, algo):
    env = "CartPole-v1" if algo == "DQN" else "Pendulum-v1"
    golden_run(["python", "-c", PROGRAM % (algo, env, OPTIONS.get(algo, NOISE))], ignore=["time/*"])
