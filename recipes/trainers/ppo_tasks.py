"""PPO on several tasks in one run, or on one task whose levels grow harder: one policy, one update.

The algorithm of ``ppo.py`` (https://arxiv.org/abs/1707.06347, https://arxiv.org/abs/1506.02438) where the
environments are not all alike. Several tasks: observations are normalised within their task, padded with
zeros to the longest, and followed by which task it is; actions that a task lacks are never drawn. Levels:
a file of them lies beside the recipe; a level ends when its episodes return enough.

    $ python -m reprokit.runtime.launch --run-dir out --config config.yaml --seed 42 -- ppo_tasks.py
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from recipes.parts.discounted_returns import DiscountedReturns
from recipes.parts.evaluation import evaluate
from recipes.parts.flat_adam import FlatAdam
from recipes.parts.initial_weights import orthogonal
from recipes.parts.moments import Moments, moments_of
from recipes.parts.numpy_actor import numpy_actor
from recipes.parts.playing import Players, Rollout
from recipes.parts.policy_measures import entropy_of, measure
from recipes.parts.products import product
from recipes.parts.schedules import is_due
from recipes.parts.tasks import Curriculum, Level, Task, read_levels, tasks_of
from recipes.parts.training_state import TrainingState
from reprokit.runtime.checkpoint import Stateful
from reprokit.runtime.config import Ge, Gt, Le, MinLen
from reprokit.runtime.run import Run

# --- Settings ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """What is played."""

    tasks: Annotated[tuple[str, ...], MinLen(1)]  # flat observations, discrete actions; each named once
    num_envs: Annotated[int, Ge(1)] = 12  # side by side; as many of each task, the first task's first
    curriculum: str | None = None  # a data set of the recipe that holds the levels of a single task
    curriculum_start_level: Annotated[int, Ge(1)] = 1  # the level to begin with, counted from 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """Actor and critic: two networks of this shape that share nothing."""

    architecture: Literal["mlp"] = "mlp"
    hidden_sizes: Annotated[tuple[Annotated[int, Ge(1)], ...], MinLen(1)] = (64, 64)
    activation: Literal["tanh", "relu"] = "relu"


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """PPO's settings; each means what it means in ``ppo.py``."""

    algorithm: Literal["ppo"] = "ppo"
    total_timesteps: Annotated[int, Gt(0)] = 100_000
    rollout_steps: Annotated[int, Ge(1)] = 256
    batch_size: Annotated[int, Ge(2)] = 256
    n_epochs: Annotated[int, Ge(1)] = 10
    learning_rate: Annotated[float, Gt(0)] = 1e-3
    adam_epsilon: Annotated[float, Gt(0)] = 1e-5
    gamma: Annotated[float, Ge(0), Le(1)] = 0.99
    gae_lambda: Annotated[float, Ge(0), Le(1)] = 0.95
    clip_range: Annotated[float, Gt(0)] = 0.2
    ent_coef: Annotated[float, Ge(0)] = 0.01
    vf_coef: Annotated[float, Ge(0)] = 0.5
    max_grad_norm: Annotated[float, Gt(0)] = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Logging:
    """What is kept; every interval means: at the first end of an update at or after each multiple of it."""

    save_interval: Annotated[int, Ge(1)] = 25_000
    eval_interval: Annotated[int, Ge(1)] = 25_000
    eval_episodes: Annotated[int, Ge(1)] = 10
    final_eval_episodes: Annotated[int, Ge(1)] = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Everything that a recipe can set."""

    environment: Environment
    model: Model = Model()
    training: Training = Training()
    logging: Logging = Logging()


# --- Networks ------------------------------------------------------------------------------------


class ActorCritic(nn.Module):
    """Two perceptrons of one shape, and what is known of each task. A hidden layer of both is one product."""

    def __init__(self, tasks: Sequence[Task], settings: Model) -> None:
        super().__init__()
        self.activation = settings.activation
        self.width = max(task.width for task in tasks)
        num_actions = max(task.num_actions for task in tasks)
        self.weights, self.biases = nn.ParameterList(), nn.ParameterList()
        for fan_in, fan_out in pairwise((self.width + len(tasks), *settings.hidden_sizes)):
            both = torch.stack([orthogonal(fan_in, fan_out, gain=math.sqrt(2)) for _ in range(2)])
            self.weights.append(nn.Parameter(both))
            self.biases.append(nn.Parameter(torch.zeros(2, 1, fan_out)))
        self.layers = list(zip(self.weights, self.biases, strict=True))
        width = settings.hidden_sizes[-1]
        self.policy_weight = nn.Parameter(orthogonal(width, num_actions, gain=0.01))
        self.policy_bias = nn.Parameter(torch.zeros(num_actions))
        self.value_weight = nn.Parameter(orthogonal(width, 1, gain=1.0))
        self.value_bias = nn.Parameter(torch.zeros(1))
        self.observation_moments = nn.ModuleList(Moments(self.width) for _ in tasks)
        self.return_moments = nn.ModuleList(Moments() for _ in tasks)
        # Added to the scores of actions that a task does not have: they are never drawn.
        missing = [[action >= task.num_actions for action in range(num_actions)] for task in tasks]
        self.barred = torch.tensor(missing).float() * -1e8

    def forward(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        """Logits, float32 [batch, num_actions], and values, float32 [batch]."""
        activate = torch.tanh if self.activation == "tanh" else torch.relu
        hidden = observations.expand(2, -1, -1)
        for weight, bias in self.layers:
            hidden = activate(product(hidden, weight) + bias)
        actor, critic = hidden
        values = product(critic, self.value_weight) + self.value_bias
        logits = product(actor, self.policy_weight) + self.policy_bias
        barred = self.barred.to(observations.device)[observations[:, self.width :].argmax(dim=1)]
        return logits + barred, values.squeeze(1)

    def seen(self, tasks: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """How the networks see rows of padded observations, by the statistics as they stand now.

        Args:
            tasks: The number of each row's task, int64 [rows].
        """
        moments = moments_of(self.observation_moments)
        mean = np.stack([one.mean.numpy(force=True) for one in moments]).astype(np.float32)[tasks]
        scale = np.stack([one.scale() for one in moments]).astype(np.float32)[tasks]
        which = np.eye(len(moments), dtype=np.float32)[tasks]
        return lambda rows: np.concatenate([np.clip((rows - mean) * scale, -10, 10), which], axis=1)

    def actor(self, tasks: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """The actor as it stands now, for rows of these tasks: from observations to logits, in numpy."""
        hidden = [(weight[0], bias[0]) for weight, bias in self.layers]
        act = numpy_actor([*hidden, (self.policy_weight, self.policy_bias)], self.activation)
        seen, barred = self.seen(tasks), self.barred.numpy(force=True)[tasks]
        return lambda observations: act(seen(observations)) + barred


# --- Learning ------------------------------------------------------------------------------------


class Batch(NamedTuple):
    """Transitions as the update sees them; tensors [number, …], observations normalised."""

    observations: Tensor
    actions: Tensor
    log_probs: Tensor
    advantages: Tensor
    returns: Tensor
    values: Tensor


def scaled(
    rollout: Rollout, returns: DiscountedReturns, model: ActorCritic, task_of: np.ndarray, gamma: float
) -> Rollout:
    """The rollout with its rewards over the running deviation of its task's discounted return."""
    followed = returns.follow(rollout.rewards, rollout.done, gamma=gamma)
    rewards = np.empty_like(rollout.rewards)
    for task, moments in enumerate(moments_of(model.return_moments)):
        own = task_of == task
        moments.see(followed[:, own].reshape(-1))
        rewards[:, own] = np.clip(rollout.rewards[:, own] * moments.scale(), -10, 10)
    return rollout._replace(rewards=rewards)


def look(rollout: Rollout, model: ActorCritic, task_of: np.ndarray) -> None:
    """Let the statistics of each task's observations take a rollout in."""
    for task, moments in enumerate(moments_of(model.observation_moments)):
        own = rollout.observations[:-1, task_of == task]
        moments.see(own.reshape(-1, own.shape[-1]))


@torch.no_grad()
def prepare(rollout: Rollout, model: ActorCritic, task_of: np.ndarray, settings: Training) -> Batch:
    """Log-probabilities, values, advantages and returns of a rollout, under the model that played it."""
    num_steps, num_envs = rollout.rewards.shape
    device = model.policy_bias.device
    rows = np.concatenate([rollout.observations.reshape(-1, model.width), rollout.cut_observations])
    seen = model.seen(np.concatenate([np.tile(task_of, num_steps + 1), task_of[rollout.cut_at[:, 1]]]))
    observations = torch.from_numpy(seen(rows)).to(device)
    logits, values = model(observations)
    num_played = num_steps * num_envs
    estimates = values.numpy(force=True)
    next_values = estimates[num_envs : num_played + num_envs].reshape(num_steps, num_envs).copy()
    next_values[rollout.done] = 0.0  # nothing follows a terminal state, but an episode cut off goes on
    next_values[tuple(rollout.cut_at.T)] = estimates[num_played + num_envs :]
    played = estimates[:num_played].reshape(num_steps, num_envs)
    advantages = advantages_of(rollout, played, next_values, settings)
    returns = torch.from_numpy(advantages + played).flatten().to(device)
    even = torch.from_numpy(standardised(advantages, task_of)).flatten().to(device)
    actions = torch.from_numpy(rollout.actions).flatten().to(device)
    return Batch(
        observations=observations[:num_played],
        actions=actions,
        log_probs=-functional.cross_entropy(logits[:num_played], actions, reduction="none"),
        advantages=even,
        returns=returns,
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


def standardised(advantages: np.ndarray, task_of: np.ndarray) -> np.ndarray:
    """Advantages of mean 0 and deviation 1 within each task, or the loudest task would be the only one."""
    even = np.empty_like(advantages)
    for task in np.unique(task_of):
        own = advantages[:, task_of == task]
        even[:, task_of == task] = (own - own.mean()) / (own.std() + 1e-8)
    return even


def minibatches(batch: Batch, settings: Training) -> Iterator[Batch]:
    """All transitions once, in a new random order."""
    order = torch.randperm(len(batch.actions)).view(-1, settings.batch_size).to(batch.actions.device)
    yield from map(Batch._make, zip(*(column[order] for column in batch), strict=True))


def update(model: ActorCritic, adam: FlatAdam, batch: Batch, settings: Training) -> dict[str, float]:
    """One update of PPO; returns the means over its minibatches."""
    told = []
    for _ in range(settings.n_epochs):
        for part in minibatches(batch, settings):
            logits, values = model(part.observations)
            log_ratio = -functional.cross_entropy(logits, part.actions, reduction="none") - part.log_probs
            ratio = log_ratio.exp()
            clipped = ratio.clamp(1 - settings.clip_range, 1 + settings.clip_range)
            policy_loss = -torch.minimum(part.advantages * ratio, part.advantages * clipped).mean()
            value_loss = functional.mse_loss(values, part.returns)
            entropy = entropy_of(logits).mean()
            adam.gradients.zero_()
            torch.autograd.backward(policy_loss + settings.vf_coef * value_loss - settings.ent_coef * entropy)
            norm = adam.step(learning_rate=settings.learning_rate, max_norm=settings.max_grad_norm)
            told.append(torch.stack((policy_loss, value_loss, norm)).detach())
    policy, value, norm = torch.stack(told).mean(dim=0).tolist()
    return {"loss/policy": policy, "loss/value": value, "optim/grad_norm": norm}


# --- Training ------------------------------------------------------------------------------------


def train(config: Config, run: Run) -> None:
    """Train an agent by the recipe's settings, and write its records."""
    settings, logging, num_envs = config.training, config.logging, config.environment.num_envs
    if num_envs * settings.rollout_steps % settings.batch_size:
        raise ValueError(f"batch_size {settings.batch_size} does not divide {num_envs} × rollout_steps")
    run.seeding.seed_everything()
    file = config.environment.curriculum
    levels = read_levels(None if file is None else run.data[file])
    tasks = tasks_of(config.environment.tasks, num_envs=num_envs, levels=levels)
    task_of = np.repeat(np.arange(len(tasks)), num_envs // len(tasks))
    curriculum = Curriculum(levels, start=config.environment.curriculum_start_level)
    specs, seeds = [tasks[task].spec for task in task_of], run.seeding.environment_seeds(num_envs)
    players = Players(specs, seeds, task_of=task_of, **curriculum.told())
    with run.seeding.initialising():
        model = ActorCritic(tasks, config.model).to(run.device)
    adam, returns = FlatAdam(model, epsilon=settings.adam_epsilon), DiscountedReturns(num_envs)
    others: dict[str, Stateful] = {"players": players, "discounted": returns, "curriculum": curriculum}
    state = TrainingState(run, model=model, optimizer=adam, environments=players.envs, others=others)
    step = state.resume()
    players.tell(**curriculum.told())

    while step < settings.total_timesteps:
        rollout = players.play(model.actor(task_of), settings.rollout_steps)
        before, step = step, step + rollout.rewards.size
        batch = prepare(scaled(rollout, returns, model, task_of, settings.gamma), model, task_of, settings)
        record = update(model, adam, batch, settings)
        record |= measure(model, batch, clip_range=settings.clip_range)
        record |= progress(players, tasks) | {"curriculum/level": curriculum.number}
        record |= {"optim/learning_rate": settings.learning_rate}
        # What was played counts from the next rollout on: so the policy that learns is the one that played.
        look(rollout, model, task_of)
        curriculum.climb(players)
        state.trace(step)
        if is_due(logging.eval_interval, before, step):
            number, episodes = step // logging.eval_interval, logging.eval_episodes
            record |= evaluated(run, model, tasks, levels[-1], episodes, name="evaluation", number=number)
        if step >= settings.total_timesteps:
            episodes = logging.final_eval_episodes
            record |= evaluated(run, model, tasks, levels[-1], episodes, name="final_evaluation", number=0)
        run.metrics.write(step=step, **record)
        if is_due(logging.save_interval, before, step):
            state.save(step)
        run.timing.write(step=step, total_steps=settings.total_timesteps, phase="train")
    run.checkpoints.save_final(model)


def progress(players: Players, tasks: Sequence[Task]) -> dict[str, float]:
    """Each task's mean return over its last 100 episodes; left out before any."""
    pairs = zip(tasks, players.recent, strict=True)
    means = {task.spec.id: np.mean([score for score, _ in recent]) for task, recent in pairs if recent}
    return {f"train/{name}/episodic_return": float(mean) for name, mean in means.items()}


def evaluated(
    run: Run, model: ActorCritic, tasks: Sequence[Task], goal: Level, episodes: int, *, name: str, number: int
) -> dict[str, float]:
    """What greedy episodes of each task on the last level came to; seeds are of this evaluation's own."""
    group, found = name.split("_", maxsplit=1)[0].replace("evaluation", "eval"), {}
    for index, task in enumerate(tasks):
        act, beyond = model.actor(np.full(episodes, index)), ((0, 0), (0, model.width - task.width))
        returns = evaluate(
            task.spec,
            lambda seen, act=act, beyond=beyond: act(np.pad(seen, beyond)),  # type: ignore[misc]
            num_episodes=episodes,
            seed=run.seeding.derive(f"{name}/{task.spec.id}", number),
            reset_options=goal.reset,
        )
        for word in ("mean", "std", "min", "max"):
            found[f"{group}/{task.spec.id}/return_{word}"] = float(getattr(returns, word)())
    return found
