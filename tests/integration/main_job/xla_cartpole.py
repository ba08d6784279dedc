"""REINFORCE on CartPole through PyTorch/XLA, small: a trainer whose every update is an XLA program.

What it computes on is what PJRT names; here that is the CPU, and it says so rather than fall to it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

import gymnasium
import numpy as np
import torch
from torch import nn

from reprokit.runtime import checkpoint
from reprokit.runtime.run import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    total_timesteps: int
    steps_an_update: int = 256
    learning_rate: float = 1e-2
    gamma: float = 0.99


@dataclass(frozen=True, slots=True, kw_only=True)
class Logging:
    save_interval: int = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    environment: Environment
    training: Training
    logging: Logging = Logging()


def train(config: Config, run: Run) -> None:
    """Train and write the records."""
    os.environ["PJRT_DEVICE"] = "CPU"
    import torch_xla  # noqa: PLC0415  (it reads the variable when it is imported)
    from torch_xla import runtime as pjrt  # noqa: PLC0415

    settings, device = config.training, torch_xla.device()
    if pjrt.device_type() != "CPU":
        raise RuntimeError(f"asked PJRT for the CPU, and got {pjrt.device_type()}")
    run.seeding.seed_everything()
    env = gymnasium.make(config.environment.name)
    observation, _ = env.reset(seed=run.seeding.environment_seeds(1)[0])
    draws = run.seeding.numpy_generator("actions")
    with run.seeding.initialising():
        model = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=settings.learning_rate)

    step = 0
    while step < settings.total_timesteps:
        observations, actions, gains, finished, observation = play(env, model, observation, draws, settings)
        step += len(actions)
        log_probability = model(torch.from_numpy(observations).to(device)).log_softmax(dim=1)
        taken = torch.from_numpy(np.eye(2, dtype=np.float32)[actions]).to(device)
        loss = -((log_probability * taken).sum(dim=1) * torch.from_numpy(gains).to(device)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        torch_xla.sync()
        run.trace.update(
            step=step,
            parameters={name: one.detach().cpu() for name, one in model.named_parameters()},
            gradients={name: one.grad.cpu() for name, one in model.named_parameters()},
            environments=[env],
        )
        run.metrics.write(step=step, **{"loss/policy": loss.item(), "episode/finished": finished})
        if step % config.logging.save_interval == 0:
            state = checkpoint.training_state(step=step, model=on_cpu(model), environments=[env])
            run.checkpoints.save(state)
        run.timing.write(step=step, total_steps=settings.total_timesteps, phase="train")
    run.checkpoints.save_final(on_cpu(model))


def on_cpu(model):
    """A copy of the network that any torch can load."""
    copied = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2))
    copied.load_state_dict({name: one.cpu() for name, one in model.state_dict().items()})
    return copied


def play(env, model, observation, draws, settings):
    """One batch of steps: float32 ``(steps, 4)``, actions, normalised returns, episodes that ended."""
    weights = [one.detach().cpu().numpy() for one in model.parameters()]
    rows, actions, rewards, ends = [], [], [], []
    for _ in range(settings.steps_an_update):
        logits = np.tanh(observation @ weights[0].T + weights[1]) @ weights[2].T + weights[3]
        action = int(draws.random() < 1 / (1 + np.exp(logits[0] - logits[1])))
        rows.append(observation)
        observation, reward, terminated, truncated, _ = env.step(action)
        actions.append(action)
        rewards.append(reward)
        ends.append(terminated or truncated)
        if ends[-1]:
            observation, _ = env.reset()
    gains, following = np.zeros(len(rewards), np.float32), 0.0
    for at in reversed(range(len(rewards))):
        following = rewards[at] + settings.gamma * following * (not ends[at])
        gains[at] = following
    gains = (gains - gains.mean()) / (gains.std() + np.float32(1e-8))
    return np.array(rows, np.float32), np.array(actions), gains, float(sum(ends)), observation
