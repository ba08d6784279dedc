"""PPO on several tasks in one run, or on one task whose levels grow harder: one policy, one update.

The algorithm of ``ppo.py`` (https://arxiv.org/abs/1707.06347, https://arxiv.org/abs/1506.02438) where the
environments are not all alike. Several tasks: observations are normalised within their task, padded with
zeros to the longest, and followed by which task it is; actions that a task lacks are never drawn. Levels:
a file of them lies beside the recipe; a level ends when its episodes return enough.

    $ python -m reprokit.runtime.launch --run-dir out --config config.yaml --seed 42 -- ppo_tasks.py
"""

from __future__ import annotations

import json
import math
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import gymnasium
import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from recipes.parts.flat_adam import FlatAdam
from recipes.parts.moments import Moments
from recipes.parts.products import product
from reprokit.runtime import checkpoint
from reprokit.runtime.config import Ge, Gt, Le, MinLen
from reprokit.runtime.run import Run

# --- Settings ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """What is played.

    Attributes:
        tasks: Gymnasium environments with flat observations and discrete actions, each named once.
        num_envs: How many are played side by side; as many of each task, the first task's first.
        curriculum: A data set of the recipe that holds the levels of a single task, or null.
        curriculum_start_level: The level to begin with, counted from 1.
    """

    tasks: Annotated[tuple[str, ...], MinLen(1)]
    num_envs: Annotated[int, Ge(1)] = 12
    curriculum: str | None = None
    curriculum_start_level: Annotated[int, Ge(1)] = 1


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


# --- Tasks and levels ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """One level of a task.

    Attributes:
        max_episode_steps: An episode is cut off after so many steps.
        reset: What every reset is told (gymnasium's ``options``), or None.
        pass_return: The mean return that ends the level; infinite for the last.
    """

    max_episode_steps: int
    reset: dict[str, Any] | None = None
    pass_return: float = math.inf


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One task: its environment, how long its observations are, how many actions it has, its levels."""

    spec: gymnasium.envs.registration.EnvSpec
    width: int
    num_actions: int
    levels: tuple[Level, ...]


def tasks_of(environment: Environment, data: Callable[[str], Path]) -> list[Task]:
    """What the settings name, looked at.

    Raises:
        ValueError: The number of environments or of levels does not fit.
    """
    names, file = environment.tasks, environment.curriculum
    if len(set(names)) < len(names) or environment.num_envs % len(names):
        raise ValueError(f"num_envs {environment.num_envs} is not as many of each of {', '.join(names)}")
    if file is not None and len(names) > 1:
        raise ValueError("a curriculum is for a single task")
    found = []
    for name in names:
        spec = gymnasium.spec(name)
        levels: tuple[Level, ...] = (Level(max_episode_steps=spec.max_episode_steps or 1000),)
        if file is not None:
            levels = tuple(Level(**level) for level in json.loads(data(file).read_text(encoding="utf-8")))
        if environment.curriculum_start_level > len(levels):
            raise ValueError(f"curriculum_start_level {environment.curriculum_start_level} of {len(levels)}")
        spec = replace(spec, max_episode_steps=levels[-1].max_episode_steps)
        env = gymnasium.make(spec)
        observations, actions = env.observation_space, env.action_space
        if not isinstance(actions, gymnasium.spaces.Discrete) or len(observations.shape or ()) != 1:
            raise TypeError(f"{name} needs flat observations and discrete actions, not {actions}")
        found.append(
            Task(spec=spec, width=observations.shape[0], num_actions=int(actions.n), levels=levels)  # type: ignore[index]
        )
        env.close()
    return found


# --- Networks ------------------------------------------------------------------------------------


class ActorCritic(nn.Module):
    """Two perceptrons of one shape, and what is known of each task. A hidden layer of both is one product.

    Args:
        tasks: What is played.
        settings: Hidden sizes and activation.
    """

    def __init__(self, tasks: Sequence[Task], settings: Model) -> None:
        super().__init__()
        self.activation: Callable[[Tensor], Tensor] = getattr(torch, settings.activation)
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
        hidden = observations.expand(2, -1, -1)
        for weight, bias in self.layers:
            hidden = self.activation(product(hidden, weight) + bias)
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
        moments = [one for one in self.observation_moments if isinstance(one, Moments)]
        mean = np.stack([one.mean.numpy(force=True) for one in moments]).astype(np.float32)[tasks]
        scale = np.stack([one.scale() for one in moments]).astype(np.float32)[tasks]
        which = np.eye(len(moments), dtype=np.float32)[tasks]
        return lambda rows: np.concatenate([np.clip((rows - mean) * scale, -10, 10), which], axis=1)

    def actor(self, tasks: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """The actor as it stands now, in numpy, for rows of these tasks."""
        activation = np.tanh if self.activation is torch.tanh else lambda x: np.maximum(x, 0)
        layers = [(weight[0].numpy(force=True), bias[0].numpy(force=True)) for weight, bias in self.layers]
        weight, bias = self.policy_weight.numpy(force=True), self.policy_bias.numpy(force=True)
        seen, barred = self.seen(tasks), self.barred.numpy(force=True)[tasks]

        def logits(observations: np.ndarray) -> np.ndarray:
            hidden = seen(observations)
            for layer_weight, layer_bias in layers:
                hidden = activation(hidden @ layer_weight + layer_bias)
            scores: np.ndarray = hidden @ weight + bias + barred
            return scores

        return logits


def orthogonal(fan_in: int, fan_out: int, *, gain: float) -> Tensor:
    """A weight, float32 [fan_in, fan_out], with orthogonal rows or columns."""
    weight = torch.empty(fan_out, fan_in)
    nn.init.orthogonal_(weight, gain)
    transposed: Tensor = weight.T.contiguous()
    return transposed


# --- Playing -------------------------------------------------------------------------------------


class Rollout(NamedTuple):
    """What one round of playing gave; numpy arrays [rollout_steps, num_envs, …], observations padded.

    Attributes are those of ``ppo.py``'s: ``cut_at`` and ``cut_observations`` are of episodes only cut off.
    """

    observations: np.ndarray
    actions: np.ndarray
    rewards: np.ndarray
    done: np.ndarray
    cut_at: np.ndarray
    cut_observations: np.ndarray


class Players:
    """Environments of all tasks side by side, each with a generator of its own, on the present level.

    Args:
        tasks: What to play.
        seeds: One for each environment.
        level: The level to begin with, from 0.
    """

    def __init__(self, tasks: Sequence[Task], seeds: list[int], *, level: int) -> None:
        self.tasks, self.level = tasks, level
        self.task_of = np.repeat(np.arange(len(tasks)), len(seeds) // len(tasks))
        self.own = [tasks[int(task)] for task in self.task_of]
        self.envs = [gymnasium.make(task.spec, disable_env_checker=True) for task in self.own]
        self.observations = np.zeros((len(seeds), max(task.width for task in tasks)), dtype=np.float32)
        for i, (env, seed) in enumerate(zip(self.envs, seeds, strict=True)):
            self._see(i, env.reset(seed=seed, options=self._level(i).reset)[0])
        self.returns, self.lengths = np.zeros(len(seeds)), np.zeros(len(seeds), dtype=np.int64)
        self.discounted = np.zeros(len(seeds))
        self.recent: list[deque[float]] = [deque(maxlen=100) for _ in tasks]

    def _level(self, i: int) -> Level:
        return self.own[i].levels[self.level]

    def _see(self, i: int, observation: np.ndarray) -> None:
        self.observations[i, : len(observation)] = observation

    def play(self, actor: Callable[[np.ndarray], np.ndarray], num_steps: int, num_actions: int) -> Rollout:
        """Play so many steps in every environment, with actions drawn from the actor's distribution."""
        shape = (num_steps, len(self.envs))
        observations = np.empty((num_steps + 1, *self.observations.shape), dtype=np.float32)
        actions, rewards = np.empty(shape, dtype=np.int64), np.empty(shape, dtype=np.float32)
        done = np.zeros(shape, dtype=bool)
        cut: list[tuple[tuple[int, int], np.ndarray]] = []
        # Gumbel noise: the largest of logits + noise is a draw from softmax(logits).
        noise = -torch.rand(*shape, num_actions).log().neg().log().numpy()
        for t in range(num_steps):
            observations[t] = self.observations
            actions[t] = (actor(self.observations) + noise[t]).argmax(axis=1)
            for i, (env, action) in enumerate(zip(self.envs, actions[t].tolist(), strict=True)):
                observation, rewards[t, i], terminated, truncated, _ = env.step(action)
                self._see(i, observation)
                if terminated or truncated or self.lengths[i] + 1 >= self._level(i).max_episode_steps:
                    done[t, i] = True
                    if not terminated:
                        cut.append(((t, i), self.observations[i].copy()))
                    self._see(i, env.reset(options=self._level(i).reset)[0])
            self._count(rewards[t], done[t])
        observations[num_steps] = self.observations
        return Rollout(
            observations=observations,
            actions=actions,
            rewards=rewards,
            done=done,
            cut_at=np.array([at for at, _ in cut], dtype=np.int64).reshape(-1, 2),
            cut_observations=np.array([seen for _, seen in cut], dtype=np.float32).reshape(
                -1, self.observations.shape[1]
            ),
        )

    def _count(self, rewards: np.ndarray, done: np.ndarray) -> None:
        self.returns += rewards
        self.lengths += 1
        for i in np.flatnonzero(done):
            self.recent[self.task_of[i]].append(float(self.returns[i]))
            self.returns[i], self.lengths[i] = 0.0, 0

    def scaled(self, rollout: Rollout, model: ActorCritic, settings: Training) -> Rollout:
        """The rollout with its rewards over the running deviation of its task's discounted return."""
        returns = np.empty(rollout.rewards.shape)
        for t, (rewards, done) in enumerate(zip(rollout.rewards, rollout.done, strict=True)):
            returns[t] = self.discounted = self.discounted * settings.gamma + rewards
            self.discounted = np.where(done, 0.0, self.discounted)
        scaled = np.empty_like(rollout.rewards)
        for task, moments in enumerate(one for one in model.return_moments if isinstance(one, Moments)):
            own = self.task_of == task
            moments.see(returns[:, own].reshape(-1))
            scaled[:, own] = np.clip(rollout.rewards[:, own] * moments.scale(), -10, 10)
        return rollout._replace(rewards=scaled)

    def look(self, rollout: Rollout, model: ActorCritic) -> None:
        """Let the statistics of each task's observations take a rollout in."""
        for task, moments in enumerate(one for one in model.observation_moments if isinstance(one, Moments)):
            own = rollout.observations[:-1, self.task_of == task]
            moments.see(own.reshape(-1, own.shape[-1]))

    def climb(self) -> None:
        """Go on to the next level where the last hundred episodes returned enough on this one."""
        level = self.tasks[0].levels[self.level]
        if len(self.recent[0]) == self.recent[0].maxlen and np.mean(self.recent[0]) >= level.pass_return:
            self.level += 1
            self.recent[0].clear()

    def record(self) -> dict[str, float]:
        """Level from 1; each task's mean return over its last 100 episodes; left out before any."""
        means = {
            f"train/{task.spec.id}/episodic_return": float(np.mean(recent))
            for task, recent in zip(self.tasks, self.recent, strict=True)
            if recent
        }
        return means | {"curriculum/level": self.level + 1}

    def state_dict(self) -> dict[str, Any]:
        return {
            "observations": torch.from_numpy(self.observations),
            "returns": self.returns.tolist(),
            "lengths": self.lengths.tolist(),
            "discounted": self.discounted.tolist(),
            "recent": [list(recent) for recent in self.recent],
            "level": self.level,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.observations[:] = state["observations"].numpy()
        self.returns[:], self.lengths[:] = state["returns"], state["lengths"]
        self.discounted, self.level = np.array(state["discounted"]), state["level"]
        for recent, saved in zip(self.recent, state["recent"], strict=True):
            recent.extend(saved)


def evaluate(
    task: int, model: ActorCritic, tasks: Sequence[Task], *, num_episodes: int, seed: int
) -> np.ndarray:
    """Returns of greedy episodes on a task's last level, float64 [num_episodes], in own environments."""
    spec, goal, width = tasks[task].spec, tasks[task].levels[-1], tasks[task].width
    actor = model.actor(np.full(num_episodes, task))
    envs = gymnasium.make_vec(spec, num_envs=num_episodes)
    observations, _ = envs.reset(seed=seed, options=goal.reset)
    returns, playing = np.zeros(num_episodes), np.ones(num_episodes, dtype=bool)
    while playing.any():  # one episode each: an environment that is done plays on, and no longer counts
        padded = np.pad(observations, ((0, 0), (0, model.width - width)))
        observations, rewards, terminated, truncated, _ = envs.step(actor(padded).argmax(axis=1))
        returns += np.where(playing, rewards, 0.0)
        playing &= ~(terminated | truncated)
    envs.close()
    return returns


# --- Learning ------------------------------------------------------------------------------------


class Batch(NamedTuple):
    """Transitions as the update sees them; tensors [number, …], observations normalised."""

    observations: Tensor
    actions: Tensor
    log_probs: Tensor
    advantages: Tensor
    returns: Tensor
    values: Tensor


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
    """Generalised advantage estimates, float32 [rollout_steps, num_envs]."""
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


def entropy_of(logits: Tensor) -> Tensor:
    """Entropy of each row's distribution, in nats."""
    log_probs = logits.log_softmax(dim=1)
    return -(log_probs.exp() * log_probs).sum(dim=1)


@torch.no_grad()
def measure(model: ActorCritic, batch: Batch, settings: Training) -> dict[str, float]:
    """How far the update moved the policy from the one that played, over the whole rollout."""
    logits, _ = model(batch.observations)
    log_ratio = -functional.cross_entropy(logits, batch.actions, reduction="none") - batch.log_probs
    ratio = log_ratio.exp()
    unexplained = (batch.returns - batch.values).var() / batch.returns.var()
    return {
        "policy/entropy": entropy_of(logits).mean().item(),
        "policy/approx_kl": (ratio - 1 - log_ratio).mean().item(),
        "policy/clip_fraction": ((ratio - 1).abs() > settings.clip_range).float().mean().item(),
        "value/explained_variance": 1 - unexplained.item(),
        "value/magnitude": batch.values.abs().mean().item(),
    }


# --- Training ------------------------------------------------------------------------------------


def train(config: Config, run: Run) -> None:
    """Train an agent and write its records.

    Args:
        config: The recipe's settings.
        run: Seeds, device, data, and where the records go.
    """
    settings, logging, num_envs = config.training, config.logging, config.environment.num_envs
    if num_envs * settings.rollout_steps % settings.batch_size:
        raise ValueError(f"batch_size {settings.batch_size} does not divide {num_envs} × rollout_steps")
    run.seeding.seed_everything()
    tasks = tasks_of(config.environment, run.data.__getitem__)
    level = config.environment.curriculum_start_level - 1
    players = Players(tasks, run.seeding.environment_seeds(num_envs), level=level)
    with run.seeding.initialising():
        model = ActorCritic(tasks, config.model).to(run.device)
    adam = FlatAdam(model, epsilon=settings.adam_epsilon)
    step = resume(run, model=model, adam=adam, players=players)

    while step < settings.total_timesteps:
        num_actions = len(model.policy_bias)
        rollout = players.play(model.actor(players.task_of), settings.rollout_steps, num_actions)
        before, step = step, step + rollout.rewards.size
        batch = prepare(players.scaled(rollout, model, settings), model, players.task_of, settings)
        record = update(model, adam, batch, settings) | measure(model, batch, settings)
        record |= players.record() | {"optim/learning_rate": settings.learning_rate}
        # What was played counts from the next rollout on: so the policy that learns is the one that played.
        players.look(rollout, model)
        players.climb()
        run.trace.update(
            step=step,
            parameters=model.state_dict(),
            gradients={name: one.grad for name, one in model.named_parameters() if one.grad is not None},
            optimizer=adam.state_dict(),
            environments=players.envs,
        )
        if is_due(logging.eval_interval, before, step):
            number = step // logging.eval_interval
            record |= evaluated(run, model, tasks, logging.eval_episodes, name="evaluation", number=number)
        if step >= settings.total_timesteps:
            record |= evaluated(run, model, tasks, logging.final_eval_episodes, name="final_evaluation")
        run.metrics.write(step=step, **record)
        if is_due(logging.save_interval, before, step):
            run.checkpoints.save(
                checkpoint.training_state(
                    step=step,
                    model=model,
                    optimizer=adam,
                    environments=players.envs,
                    extra={"players": players.state_dict(), "updates": run.trace.updates},
                )
            )
        run.timing.write(step=step, total_steps=settings.total_timesteps, phase="train")
    run.checkpoints.save_final(model)


def evaluated(
    run: Run, model: ActorCritic, tasks: Sequence[Task], num_episodes: int, *, name: str, number: int = 0
) -> dict[str, float]:
    """What greedy episodes of each task came to; seeds are of this evaluation's and this task's own."""
    group, found = name.split("_", maxsplit=1)[0].replace("evaluation", "eval"), {}
    for index, task in enumerate(tasks):
        seed = run.seeding.derive(f"{name}/{task.spec.id}", number)
        returns = evaluate(index, model, tasks, num_episodes=num_episodes, seed=seed)
        for word in ("mean", "std", "min", "max"):
            found[f"{group}/{task.spec.id}/return_{word}"] = float(getattr(returns, word)())
    return found


def resume(run: Run, *, model: ActorCritic, adam: FlatAdam, players: Players) -> int:
    """Go on from the checkpoint that the run names, if it names one. Returns the step to go on from."""
    state = run.load_checkpoint()
    if state is None:
        return 0
    step, extra = checkpoint.restore(state, model=model, optimizer=adam, environments=players.envs)
    players.load_state_dict(extra["players"])
    run.trace.resume_at(extra["updates"])
    run.timing.resume_at(step)
    return step


def is_due(interval: int, before: int, now: int) -> bool:
    """Whether a multiple of the interval lies in ``(before, now]``."""
    return now // interval > before // interval
