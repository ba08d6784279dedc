"""Proximal policy optimisation (PPO) for environments with discrete actions: one file, top to bottom.

The clipped objective of Schulman et al. (https://arxiv.org/abs/1707.06347) with generalised
advantage estimation (https://arxiv.org/abs/1506.02438). What these papers leave open is in
docs/decisions/0002-ppo-open-choices.md.

Four choices are for speed, and change no mathematics: actor and critic share batched matrix products, all
parameters lie in one vector, acting is plain numpy, and the clipped objective is one bounded ratio, with
the paper's own form beside it. An update is PyTorch's own autograd.

    $ python -m reprokit.runtime.launch --run-dir out --config config.yaml --seed 42 -- ppo.py
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Annotated, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from recipes.parts.computing import compute_in
from recipes.parts.devices import Adam, adam_of
from recipes.parts.evaluation import evaluate, final_record
from recipes.parts.initial_weights import orthogonal
from recipes.parts.numpy_actor import numpy_actor
from recipes.parts.playing import Players, Rollout, spec_of
from recipes.parts.policy_measures import entropy_of, measure
from recipes.parts.schedules import is_due
from recipes.parts.training_state import TrainingState
from reprokit.runtime.config import Ge, Gt, Le, MinLen
from reprokit.runtime.run import Run

# --- Settings ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """What is played."""

    name: str  # a gymnasium environment with a flat observation and discrete actions
    num_envs: Annotated[int, Ge(1)] = 8  # played side by side
    max_episode_steps: Annotated[int, Ge(1)] = 500  # after so many an episode is cut off (truncated)


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """Actor and critic: two networks of this shape that share nothing."""

    architecture: Literal["mlp"] = "mlp"
    hidden_sizes: Annotated[tuple[Annotated[int, Ge(1)], ...], MinLen(1)] = (64, 64)
    activation: Literal["tanh", "relu"] = "tanh"


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """PPO's settings. Steps are environment steps, all environments together, unless said otherwise."""

    algorithm: Literal["ppo"] = "ppo"
    total_timesteps: Annotated[int, Gt(0)] = 100_000  # training ends with the first update at or after it
    rollout_steps: Annotated[int, Ge(1)] = 512  # of each environment, between two updates
    batch_size: Annotated[int, Ge(2)] = 256  # of a minibatch; divides rollout_steps times num_envs
    n_epochs: Annotated[int, Ge(1)] = 10  # passes over a rollout in an update
    learning_rate: Annotated[float, Gt(0)] = 3e-4  # constant
    adam_epsilon: Annotated[float, Gt(0)] = 1e-5  # added to the root in Adam's denominator
    gamma: Annotated[float, Ge(0), Le(1)] = 0.99  # discount
    gae_lambda: Annotated[float, Ge(0), Le(1)] = 0.95  # from one-step (0) to Monte Carlo (1) advantages
    clip_range: Annotated[float, Gt(0)] = 0.2  # how far a probability ratio counts, to either side of 1
    ent_coef: Annotated[float, Ge(0)] = 0.0  # weight of the entropy in the loss
    vf_coef: Annotated[float, Ge(0)] = 0.5  # weight of the value loss, the mean squared error
    max_grad_norm: Annotated[float, Gt(0)] = 0.5  # longer gradients are scaled down to this
    # Of the networks in an update; parameters stay float32, and what plays too. Float16 scales the loss.
    precision: Literal["float32", "bfloat16", "float16"] = "float32"
    compile: Literal["default", "reduce-overhead"] | None = None  # a mode of torch.compile


@dataclass(frozen=True, slots=True, kw_only=True)
class Logging:
    """What is kept. Every interval means: at the first end of an update at or after each multiple of it."""

    save_interval: Annotated[int, Ge(1)] = 10_000  # steps between checkpoints
    eval_interval: Annotated[int, Ge(1)] = 5_000  # steps between evaluations
    eval_episodes: Annotated[int, Ge(1)] = 10  # greedy episodes in each of them
    final_eval_episodes: Annotated[int, Ge(1)] = 100  # greedy episodes after training
    success_return: float = 475.0  # from this return on an episode of the final evaluation is a success


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Everything that a recipe can set."""

    environment: Environment
    model: Model = Model()
    training: Training = Training()
    logging: Logging = Logging()


# --- Networks ------------------------------------------------------------------------------------


class ActorCritic(nn.Module):
    """Two perceptrons of one shape. A hidden layer of both is one batched matrix product.

    Args:
        num_inputs: Length of an observation.
        num_actions: How many actions there are.
        settings: Hidden sizes and activation.
    """

    def __init__(self, num_inputs: int, num_actions: int, settings: Model) -> None:
        super().__init__()
        self.activation = settings.activation
        self.weights, self.biases = nn.ParameterList(), nn.ParameterList()
        for fan_in, fan_out in pairwise((num_inputs, *settings.hidden_sizes)):
            both = torch.stack([orthogonal(fan_in, fan_out, gain=math.sqrt(2)) for _ in range(2)])
            self.weights.append(nn.Parameter(both))
            self.biases.append(nn.Parameter(torch.zeros(2, 1, fan_out)))
        width = settings.hidden_sizes[-1]
        self.policy_weight = nn.Parameter(orthogonal(width, num_actions, gain=0.01))
        self.policy_bias = nn.Parameter(torch.zeros(num_actions))
        self.value_weight = nn.Parameter(orthogonal(width, 1, gain=1.0))
        self.value_bias = nn.Parameter(torch.zeros(1))

    @cached_property
    def layers(self) -> list[tuple[Tensor, Tensor]]:
        """The hidden ones, where they are now: a list, because going through a ``ParameterList`` is slow."""
        return list(zip(self.weights, self.biases, strict=True))

    def forward(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        """Logits, float32 [batch, num_actions], and values, float32 [batch]."""
        activate = torch.tanh if self.activation == "tanh" else torch.relu
        hidden = observations.expand(2, -1, -1)
        for weight, bias in self.layers:
            hidden = activate(torch.baddbmm(bias, hidden, weight))
        actor, critic = hidden
        values = torch.addmm(self.value_bias, critic, self.value_weight)
        return torch.addmm(self.policy_bias, actor, self.policy_weight), values.squeeze(1)

    def actor(self) -> Callable[[np.ndarray], np.ndarray]:
        """The actor as it stands now: from observations to logits, in numpy."""
        hidden = [(weight[0], bias[0]) for weight, bias in self.layers]
        return numpy_actor([*hidden, (self.policy_weight, self.policy_bias)], self.activation)


# --- Learning ------------------------------------------------------------------------------------


class Batch(NamedTuple):
    """A rollout as the update sees it; tensors [rollout_steps · num_envs, …]."""

    observations: Tensor
    actions: Tensor
    log_probs: Tensor
    advantages: Tensor
    returns: Tensor
    values: Tensor


@torch.no_grad()
def prepare(rollout: Rollout, model: ActorCritic, settings: Training) -> Batch:
    """Log-probabilities, values, advantages and returns of a rollout, under the model that played it."""
    num_steps, num_envs = rollout.rewards.shape
    num_played, width = num_steps * num_envs, rollout.observations.shape[-1]
    device = model.policy_bias.device
    rows = np.concatenate([rollout.observations.reshape(-1, width), rollout.cut_observations])
    observations = torch.from_numpy(rows).to(device)
    logits, values = model(observations)
    estimates = values.numpy(force=True)
    next_values = estimates[num_envs : num_played + num_envs].reshape(num_steps, num_envs).copy()
    next_values[rollout.done] = 0.0  # nothing follows a terminal state, but an episode cut off goes on
    next_values[tuple(rollout.cut_at.T)] = estimates[num_played + num_envs :]
    played = estimates[:num_played].reshape(num_steps, num_envs)
    advantages = torch.from_numpy(advantages_of(rollout, played, next_values, settings)).flatten().to(device)
    actions = torch.from_numpy(rollout.actions).flatten().to(device)
    return Batch(
        observations=observations[:num_played],
        actions=actions,
        log_probs=-functional.cross_entropy(logits[:num_played], actions, reduction="none"),
        advantages=advantages,
        returns=advantages + values[:num_played],
        values=values[:num_played],
    )


def advantages_of(
    rollout: Rollout, values: np.ndarray, next_values: np.ndarray, settings: Training
) -> np.ndarray:
    """Generalised advantage estimates (equation 16 of its paper), float32 [rollout_steps, num_envs]."""
    errors: np.ndarray = rollout.rewards + np.float32(settings.gamma) * next_values - values
    decay = np.where(rollout.done, 0.0, settings.gamma * settings.gae_lambda).astype(np.float32)
    advantages, running = np.empty_like(errors), np.zeros_like(errors[0])
    for t in reversed(range(len(errors))):
        running = errors[t] + decay[t] * running
        advantages[t] = running
    return advantages


class Minibatch(NamedTuple):
    """A random part of a batch; tensors [batch_size, …]. The ratio counts between ``low`` and ``high``."""

    observations: Tensor
    actions: Tensor
    log_probs: Tensor
    returns: Tensor
    advantages: Tensor
    low: Tensor
    high: Tensor


def minibatches(batch: Batch, settings: Training) -> Iterator[Minibatch]:
    """All transitions once, in a new random order; advantages standardised in each minibatch."""
    order = torch.randperm(len(batch.actions)).view(-1, settings.batch_size).to(batch.actions.device)
    advantages = batch.advantages[order]
    mean, std = advantages.mean(1, keepdim=True), advantages.std(1, keepdim=True)
    advantages = (advantages - mean) / (std + 1e-8)
    columns = (
        batch.observations[order],
        batch.actions[order],
        batch.log_probs[order],
        batch.returns[order],
        advantages,
        torch.where(advantages < 0, 1 - settings.clip_range, 0.0),
        torch.where(advantages > 0, 1 + settings.clip_range, math.inf),
    )
    yield from map(Minibatch._make, zip(*columns, strict=True))


def papers_loss(model: ActorCritic, part: Minibatch, settings: Training) -> Tensor:
    """The loss of a minibatch as the paper has it, to be read: equations 7 and 9, with the sign of a loss."""
    logits, values = model(part.observations)
    log_probs = logits.log_softmax(dim=1).gather(1, part.actions.unsqueeze(1)).squeeze(1)
    ratio = torch.exp(log_probs - part.log_probs)
    clipped = ratio.clamp(1 - settings.clip_range, 1 + settings.clip_range)
    objective = torch.minimum(ratio * part.advantages, clipped * part.advantages).mean()
    value_loss = ((values - part.returns) ** 2).mean()
    loss: Tensor = -objective + settings.vf_coef * value_loss - settings.ent_coef * entropy_of(logits).mean()
    return loss


def losses_of(model: ActorCritic, part: Minibatch, settings: Training) -> tuple[Tensor, Tensor, Tensor]:
    """The same in fewer calls, to be trained with: the loss, and of it the policy loss and the value loss.

    The paper's minimum bounds the ratio only on the side where the objective would gain: from above where
    the advantage is positive, from below where it is negative. So the minimum is one bounded ratio, whose
    bounds are known before the first of the minibatches.
    """
    logits, values = model(part.observations)
    log_probs = -functional.cross_entropy(logits, part.actions, reduction="none")
    ratio = (log_probs - part.log_probs).exp()
    policy_loss = -(part.advantages * ratio.clamp(part.low, part.high)).mean()
    value_loss = functional.mse_loss(values, part.returns)
    loss = policy_loss + settings.vf_coef * value_loss
    if settings.ent_coef:
        loss = loss - settings.ent_coef * entropy_of(logits).mean()
    return loss, policy_loss, value_loss


def update(model: ActorCritic, adam: Adam, batch: Batch, settings: Training) -> dict[str, float]:
    """One update of PPO; returns the means over its minibatches."""
    told: list[Tensor] = []
    for _ in range(settings.n_epochs):
        for part in minibatches(batch, settings):
            loss, policy_loss, value_loss = losses_of(model, part, settings)
            adam.gradients.zero_()
            torch.autograd.backward(adam.scaled(loss))
            norm = adam.step(learning_rate=settings.learning_rate, max_norm=settings.max_grad_norm)
            told += (policy_loss.detach(), value_loss.detach(), norm)
    policy, value, norm = torch.stack(told).view(-1, 3).mean(dim=0).tolist()
    return {"loss/policy": policy, "loss/value": value, "optim/grad_norm": norm, **adam.record()}


# --- Training ------------------------------------------------------------------------------------


def train(config: Config, run: Run) -> None:
    """Train an agent and write its records.

    Args:
        config: The recipe's settings.
        run: Seeds, device, and where the records go.
    """
    settings, logging, num_envs = config.training, config.logging, config.environment.num_envs
    if num_envs * settings.rollout_steps % settings.batch_size:
        raise ValueError(f"batch_size {settings.batch_size} does not divide {num_envs} × rollout_steps")
    run.seeding.seed_everything()
    spec = spec_of(config.environment.name, max_episode_steps=config.environment.max_episode_steps)
    players = Players([spec] * num_envs, run.seeding.environment_seeds(num_envs))
    with run.seeding.initialising():
        model = ActorCritic(players.observations.shape[1], players.num_actions, config.model).to(run.device)
    compute_in(model, precision=settings.precision, mode=settings.compile)
    adam = adam_of(model, epsilon=settings.adam_epsilon, precision=settings.precision)
    others = {"players": players}
    state = TrainingState(run, model=model, optimizer=adam, environments=players.envs, others=others)
    step = state.resume()

    while step < settings.total_timesteps:
        rollout = players.play(model.actor(), settings.rollout_steps)
        before, step = step, step + rollout.rewards.size
        batch = prepare(rollout, model, settings)
        record = update(model, adam, batch, settings)
        record |= measure(model, batch, clip_range=settings.clip_range) | players.record()
        record |= {"optim/learning_rate": settings.learning_rate}
        state.trace(step)
        if is_due(logging.eval_interval, before, step):
            seed = run.seeding.derive("evaluation", step // logging.eval_interval)
            returns = evaluate(spec, model.actor(), num_episodes=logging.eval_episodes, seed=seed)
            record |= {"eval/return_mean": returns.mean(), "eval/return_std": returns.std()}
        if step >= settings.total_timesteps:
            seed = run.seeding.derive("final_evaluation")
            returns = evaluate(spec, model.actor(), num_episodes=logging.final_eval_episodes, seed=seed)
            record |= final_record(returns, logging.success_return)
        run.metrics.write(step=step, **record)
        if is_due(logging.save_interval, before, step):
            state.save(step)
        run.timing.write(step=step, total_steps=settings.total_timesteps, phase="train")
    run.checkpoints.save_final(model)
