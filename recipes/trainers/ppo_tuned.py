"""PPO with what tuning usually adds: normalised observations and rewards, schedules, an early stop.

The algorithm of ``ppo.py`` (https://arxiv.org/abs/1707.06347, https://arxiv.org/abs/1506.02438), and beside
it the settings that troubleshooting guides name: gradient accumulation, bfloat16, anomaly detection, a start
from a pretrained model. Each is off unless a recipe turns it on, and none of them draws a random number.
What the document behind the recipe leaves open is in docs/decisions/0013-tuned-ppo-open-choices.md.

    $ python -m reprokit.runtime.launch --run-dir out --config config.yaml --seed 42 -- ppo_tuned.py
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from recipes.parts.discounted_returns import DiscountedReturns
from recipes.parts.evaluation import evaluate, final_record
from recipes.parts.flat_adam import FlatAdam
from recipes.parts.initial_weights import orthogonal, uniform
from recipes.parts.moments import Moments
from recipes.parts.numpy_actor import numpy_actor
from recipes.parts.playing import Players, Rollout, spec_of
from recipes.parts.policy_measures import distance_of, entropy_of, measure
from recipes.parts.pretrained import start_from
from recipes.parts.products import product
from recipes.parts.schedules import falling, is_due, rising
from recipes.parts.training_state import TrainingState
from reprokit.runtime.checkpoint import Stateful
from reprokit.runtime.config import Ge, Gt, Le, MinLen
from reprokit.runtime.run import Run

# --- Settings ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """What is played."""

    name: str  # a gymnasium environment with a flat observation and discrete actions
    num_envs: Annotated[int, Ge(1)] = 16  # played side by side
    max_episode_steps: Annotated[int, Ge(1)] = 500  # after so many an episode is cut off (truncated)
    normalize_obs: bool = True  # networks see observations of mean 0 and variance 1, by running statistics
    normalize_reward: bool = True  # rewards are divided by the running deviation of the discounted return


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """Actor and critic: two networks of this shape that share nothing."""

    architecture: Literal["mlp"] = "mlp"
    hidden_sizes: Annotated[tuple[Annotated[int, Ge(1)], ...], MinLen(1)] = (256, 256)
    activation: Literal["tanh", "relu"] = "relu"
    ortho_init: bool = True  # orthogonal initial weights; PyTorch's own for linear layers where it is off
    pretrained: str | None = None  # a data set of the recipe: a final model or checkpoint to start from


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """PPO's settings; those without a word mean what they mean in ``ppo.py``."""

    algorithm: Literal["ppo"] = "ppo"
    total_timesteps: Annotated[int, Gt(0)] = 200_000
    rollout_steps: Annotated[int, Ge(1)] = 256
    batch_size: Annotated[int, Ge(2)] = 512
    n_epochs: Annotated[int, Ge(1)] = 20
    learning_rate: Annotated[float, Gt(0)] = 2.5e-4
    lr_schedule: Literal["constant", "linear"] = "linear"  # linear falls to 0 at total_timesteps
    lr_warmup_steps: Annotated[int, Ge(0)] = 0  # steps over which the learning rate rises from 0
    adam_epsilon: Annotated[float, Gt(0)] = 1e-5
    gamma: Annotated[float, Ge(0), Le(1)] = 0.99
    gae_lambda: Annotated[float, Ge(0), Le(1)] = 0.95
    clip_range: Annotated[float, Gt(0)] = 0.2
    clip_range_vf: Annotated[float, Gt(0)] | None = None  # how far a value may move; null for any distance
    ent_coef: Annotated[float, Ge(0)] = 0.01
    vf_coef: Annotated[float, Ge(0)] = 0.5
    max_grad_norm: Annotated[float, Gt(0)] = 0.5
    use_sde: Literal[False] = False  # state-dependent exploration is for continuous actions: none here
    # Once a minibatch is 1.5 times as far from the policy that played, the update ends.
    target_kl: Annotated[float, Gt(0)] | None = 0.01
    gradient_accumulation_steps: Annotated[int, Ge(1)] = 1  # a minibatch is learned from in so many parts
    precision: Literal["float32", "bfloat16"] = "float32"  # of the networks, under autocast
    detect_anomaly: bool = False  # a NaN in a backward pass ends the run, and names the operation


@dataclass(frozen=True, slots=True, kw_only=True)
class Logging:
    """What is kept; as in ``ppo.py``."""

    save_interval: Annotated[int, Ge(1)] = 10_000
    eval_interval: Annotated[int, Ge(1)] = 5_000
    eval_episodes: Annotated[int, Ge(1)] = 20
    final_eval_episodes: Annotated[int, Ge(1)] = 100
    success_return: float = 475.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Everything that a recipe can set."""

    environment: Environment
    model: Model = Model()
    training: Training = Training()
    logging: Logging = Logging()


# --- Networks ------------------------------------------------------------------------------------

Normalise = Callable[[np.ndarray], np.ndarray]


class ActorCritic(nn.Module):
    """Two perceptrons of one shape on normalised observations. A hidden layer of both is one product.

    Args:
        num_inputs: Length of an observation.
        num_actions: How many actions there are.
        settings: Hidden sizes, activation, initial weights.
    """

    def __init__(self, num_inputs: int, num_actions: int, settings: Model) -> None:
        super().__init__()
        self.activation = settings.activation
        initial = orthogonal if settings.ortho_init else uniform
        self.weights, self.biases = nn.ParameterList(), nn.ParameterList()
        for fan_in, fan_out in pairwise((num_inputs, *settings.hidden_sizes)):
            both = torch.stack([initial(fan_in, fan_out, gain=math.sqrt(2)) for _ in range(2)])
            self.weights.append(nn.Parameter(both))
            self.biases.append(nn.Parameter(torch.zeros(2, 1, fan_out)))
        self.layers = list(zip(self.weights, self.biases, strict=True))
        width = settings.hidden_sizes[-1]
        self.policy_weight = nn.Parameter(initial(width, num_actions, gain=0.01))
        self.policy_bias = nn.Parameter(torch.zeros(num_actions))
        self.value_weight = nn.Parameter(initial(width, 1, gain=1.0))
        self.value_bias = nn.Parameter(torch.zeros(1))
        self.observation_moments = Moments(num_inputs)
        self.return_moments = Moments()

    def forward(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        """Logits, float32 [batch, num_actions], and values, float32 [batch], of normalised observations."""
        activate: Callable[[Tensor], Tensor] = getattr(torch, f"{self.activation}_")  # in place
        hidden = observations.expand(2, -1, -1)
        for weight, bias in self.layers:
            hidden = activate(product(hidden, weight) + bias)
        actor, critic = hidden
        values = product(critic, self.value_weight) + self.value_bias
        logits = product(actor, self.policy_weight) + self.policy_bias
        return logits.float(), values.float().squeeze(1)

    def normaliser(self, *, on: bool) -> Normalise:
        """How the networks see observations, by the statistics as they stand now; float32 in and out."""
        if not on:
            return lambda observations: observations
        mean = self.observation_moments.mean.numpy(force=True).astype(np.float32)
        scale = self.observation_moments.scale().astype(np.float32)
        return lambda observations: np.clip((observations - mean) * scale, -10, 10)

    def actor(self, normalise: Normalise) -> Callable[[np.ndarray], np.ndarray]:
        """The actor as it stands now: from observations to logits, in numpy."""
        hidden = [(weight[0], bias[0]) for weight, bias in self.layers]
        act = numpy_actor([*hidden, (self.policy_weight, self.policy_bias)], self.activation)
        return lambda observations: act(normalise(observations))


# --- Learning ------------------------------------------------------------------------------------


class Batch(NamedTuple):
    """Transitions as the update sees them; tensors [number, …], observations normalised."""

    observations: Tensor
    actions: Tensor
    log_probs: Tensor
    advantages: Tensor
    returns: Tensor
    values: Tensor


def scaled(rollout: Rollout, returns: DiscountedReturns, moments: Moments, gamma: float) -> Rollout:
    """The rollout with its rewards over the running deviation of the discounted return."""
    moments.see(returns.follow(rollout.rewards, rollout.done, gamma=gamma).reshape(-1))
    rewards = np.clip(rollout.rewards * moments.scale(), -10, 10)
    return rollout._replace(rewards=rewards.astype(np.float32))


@torch.no_grad()
def prepare(rollout: Rollout, model: ActorCritic, normalise: Normalise, settings: Training) -> Batch:
    """Log-probabilities, values, advantages and returns of a rollout, under the model that played it."""
    num_steps, num_envs = rollout.rewards.shape
    num_played, width = num_steps * num_envs, rollout.observations.shape[-1]
    device = model.policy_bias.device
    rows = np.concatenate([rollout.observations.reshape(-1, width), rollout.cut_observations])
    observations = torch.from_numpy(normalise(rows)).to(device)
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


def minibatches(batch: Batch, settings: Training) -> Iterator[Batch]:
    """All transitions once, in a new random order; advantages standardised in each minibatch."""
    order = torch.randperm(len(batch.actions)).view(-1, settings.batch_size).to(batch.actions.device)
    advantages = batch.advantages[order]
    mean, std = advantages.mean(1, keepdim=True), advantages.std(1, keepdim=True)
    shuffled = Batch._make(column[order] for column in batch)
    shuffled = shuffled._replace(advantages=(advantages - mean) / (std + 1e-8))
    yield from map(Batch._make, zip(*shuffled, strict=True))


def losses_of(model: ActorCritic, part: Batch, settings: Training) -> tuple[Tensor, Tensor]:
    """The loss, and beside it float32 [4]: policy loss, value loss, entropy and distance (KL), detached."""
    with torch.autocast(
        part.values.device.type, dtype=torch.bfloat16, enabled=settings.precision == "bfloat16"
    ):
        logits, values = model(part.observations)
    log_ratio = -functional.cross_entropy(logits, part.actions, reduction="none") - part.log_probs
    ratio = log_ratio.exp()
    clipped = ratio.clamp(1 - settings.clip_range, 1 + settings.clip_range)
    policy_loss = -torch.minimum(part.advantages * ratio, part.advantages * clipped).mean()
    if settings.clip_range_vf is not None:
        values = part.values + (values - part.values).clamp(-settings.clip_range_vf, settings.clip_range_vf)
    value_loss = functional.mse_loss(values, part.returns)
    entropy = entropy_of(logits).mean()
    loss = policy_loss + settings.vf_coef * value_loss - settings.ent_coef * entropy
    distance = distance_of(ratio, log_ratio)
    return loss, torch.stack((policy_loss, value_loss, entropy, distance)).detach()


def update(
    model: ActorCritic, adam: FlatAdam, batch: Batch, settings: Training, *, learning_rate: float
) -> dict[str, float]:
    """One update of PPO, ended early where the policy has moved far enough; means over its minibatches."""
    number, limit = settings.gradient_accumulation_steps, 1.5 * (settings.target_kl or math.inf)
    told, norms, stopped = [], [], False
    for _ in range(settings.n_epochs):
        for minibatch in minibatches(batch, settings):
            adam.gradients.zero_()
            seen = torch.zeros(4, device=batch.values.device)
            parts = map(Batch._make, zip(*(column.chunk(number) for column in minibatch), strict=True))
            with torch.autograd.set_detect_anomaly(settings.detect_anomaly):
                for part in parts:
                    loss, terms = losses_of(model, part, settings)
                    torch.autograd.backward(loss / number)
                    seen += terms / number
            told.append(seen)
            stopped = seen[3].item() > limit
            if stopped:
                break
            norms.append(adam.step(learning_rate=learning_rate, max_norm=settings.max_grad_norm))
        if stopped:
            break
    policy, value, _, _ = torch.stack(told).mean(dim=0).tolist()
    norm = torch.stack(norms).mean().item() if norms else math.nan
    return {
        "loss/policy": policy,
        "loss/value": value,
        "optim/grad_norm": norm,
        "optim/num_steps": len(norms),
    }


def learning_rate_at(step: int, rollout: int, settings: Training) -> float:
    """The learning rate of the update whose rollout of so many steps begins at ``step``."""
    left = falling(step, over=settings.total_timesteps) if settings.lr_schedule == "linear" else 1.0
    return settings.learning_rate * rising(step + rollout, over=settings.lr_warmup_steps) * left


# --- Training ------------------------------------------------------------------------------------


def train(config: Config, run: Run) -> None:
    """Train an agent by the recipe's settings, and write its records."""
    environment, settings, logging = config.environment, config.training, config.logging
    if environment.num_envs * settings.rollout_steps % settings.batch_size:
        raise ValueError(f"batch_size {settings.batch_size} does not divide num_envs × rollout_steps")
    if settings.batch_size % settings.gradient_accumulation_steps:
        raise ValueError(f"gradient_accumulation_steps does not divide batch_size {settings.batch_size}")
    run.seeding.seed_everything()
    spec = spec_of(environment.name, max_episode_steps=environment.max_episode_steps)
    players = Players([spec] * environment.num_envs, run.seeding.environment_seeds(environment.num_envs))
    with run.seeding.initialising():
        model = ActorCritic(players.observations.shape[1], players.num_actions, config.model).to(run.device)
    if config.model.pretrained is not None:
        start_from(model, run.data[config.model.pretrained])
    adam, returns = FlatAdam(model, epsilon=settings.adam_epsilon), DiscountedReturns(environment.num_envs)
    others: dict[str, Stateful] = {"players": players, "discounted": returns}
    state = TrainingState(run, model=model, optimizer=adam, environments=players.envs, others=others)
    step = state.resume()

    while step < settings.total_timesteps:
        learning_rate = learning_rate_at(step, environment.num_envs * settings.rollout_steps, settings)
        normalise = model.normaliser(on=environment.normalize_obs)
        rollout = played = players.play(model.actor(normalise), settings.rollout_steps)
        before, step = step, step + rollout.rewards.size
        if environment.normalize_reward:
            rollout = scaled(rollout, returns, model.return_moments, settings.gamma)
        batch = prepare(rollout, model, normalise, settings)
        record = update(model, adam, batch, settings, learning_rate=learning_rate)
        record |= measure(model, batch, clip_range=settings.clip_range) | players.record()
        record |= {"optim/learning_rate": learning_rate}
        # What was played counts from the next rollout on: so the policy that learns is the one that played.
        model.observation_moments.see(played.observations[:-1].reshape(-1, players.observations.shape[1]))
        state.trace(step)
        actor = model.actor(model.normaliser(on=environment.normalize_obs))
        if is_due(logging.eval_interval, before, step):
            seed = run.seeding.derive("evaluation", step // logging.eval_interval)
            scores = evaluate(spec, actor, num_episodes=logging.eval_episodes, seed=seed)
            record |= {"eval/return_mean": scores.mean(), "eval/return_std": scores.std()}
        if step >= settings.total_timesteps:
            seed = run.seeding.derive("final_evaluation")
            scores = evaluate(spec, actor, num_episodes=logging.final_eval_episodes, seed=seed)
            record |= final_record(scores, logging.success_return)
        run.metrics.write(step=step, **record)
        if is_due(logging.save_interval, before, step):
            state.save(step)
        run.timing.write(step=step, total_steps=settings.total_timesteps, phase="train")
    run.checkpoints.save_final(model)
