"""Deep Q-learning (DQN) for environments with discrete actions: one file, top to bottom.

Q-learning with a replay buffer and a target network (https://doi.org/10.1038/nature14236). What the
documents behind the recipes leave open, and what was measured, is in docs/decisions/0014-dqn-open-choices.md.

One choice is for speed, and changes no mathematics: the network's gradient is written out
(recipes/parts/written_out.py). There is an update for every step, on networks so small that autograd, whose
calls cost more than the sums, takes three times as long (docs/decisions/0064-trainers-to-be-read.md).

    $ python -m reprokit.runtime.launch --run-dir out --config config.yaml --seed 42 -- dqn.py
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from recipes.parts import pinpad
from recipes.parts.devices import adam_of
from recipes.parts.evaluation import evaluate, final_record
from recipes.parts.playing import Players, spec_of
from recipes.parts.pretrained import start_from
from recipes.parts.replay_buffers import Batch, ReplayBuffer
from recipes.parts.replay_sampling import sampler_of
from recipes.parts.schedules import falling, is_due, rising
from recipes.parts.training_state import TrainingState
from recipes.parts.value_bounds import judge_values, warn_beyond_bound
from recipes.parts.written_out import WrittenOut
from reprokit.runtime.config import Ge, Gt, Le, MinLen
from reprokit.runtime.run import Run

# --- Settings ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """What is played."""

    name: str  # a gymnasium environment with a flat observation and discrete actions, or PinPad-v0
    num_envs: Annotated[int, Ge(1)] = 1  # played side by side, each with a seed of its own
    max_episode_steps: Annotated[int, Ge(1)] = 500  # after so many an episode is cut off (truncated)


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A perceptron from an observation to the value of each action; a ReLU follows each hidden layer."""

    architecture: Literal["mlp"] = "mlp"
    hidden_sizes: Annotated[tuple[Annotated[int, Ge(1)], ...], MinLen(1)] = (128,)
    pretrained: str | None = None  # a data set of the recipe: a final model or checkpoint to start from


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """DQN's settings. Steps are environment steps, all environments together, unless said otherwise."""

    algorithm: Literal["dqn"] = "dqn"
    total_timesteps: Annotated[int, Gt(0)] = 50_000  # training ends with the first record at or after it
    learning_rate: Annotated[float, Gt(0)] = 3e-4  # after the warm-up and before it falls
    lr_schedule: Literal["constant", "linear"] = "constant"  # linear falls to 0 at total_timesteps
    lr_warmup_steps: Annotated[int, Ge(0)] = 0  # steps over which the learning rate rises from 0
    adam_epsilon: Annotated[float, Gt(0)] = 1e-8  # added to the root in Adam's denominator
    batch_size: Annotated[int, Ge(1)] = 64  # transitions in an update
    gamma: Annotated[float, Ge(0), Le(1)] = 0.99  # discount
    epsilon_start: Annotated[float, Ge(0), Le(1)] = 1.0  # chance of a random action in the first step
    epsilon_end: Annotated[float, Ge(0), Le(1)] = 0.01  # the same from epsilon_decay on
    epsilon_decay: Annotated[int, Ge(1)] = 10_000  # steps over which it falls, linearly
    buffer_size: Annotated[int, Ge(1)] = 10_000  # transitions in the replay buffer
    # How they are drawn from it: parts/replay_sampling.py.
    replay: Literal["uniform", "time_balanced", "time_balanced_naive", "prioritised"] = "uniform"
    priority_exponent: Annotated[float, Ge(0)] = 0.6  # of the prioritised replay: 0 draws uniformly
    importance_exponent: Annotated[float, Ge(0), Le(1)] = 0.4  # likewise: 1 corrects uneven chances in full
    learning_starts: Annotated[int, Ge(0)] = 1_000  # steps before the first update
    train_frequency: Annotated[int, Ge(1)] = 1  # steps between two trainings, a multiple of num_envs
    gradient_steps: Annotated[int, Ge(1)] = 1  # updates in a training
    target_update: Annotated[int, Ge(1)] = 100  # updates between two copies into the target network
    max_grad_norm: Annotated[float, Gt(0)] | None = None  # longer gradients are scaled down; null: none is
    gradient_accumulation_steps: Annotated[int, Ge(1)] = 1  # a batch is learned from in so many parts
    # Of the networks; parameters stay float32. Float16 scales the loss.
    precision: Literal["float32", "bfloat16", "float16"] = "float32"
    detect_anomaly: bool = False  # a NaN or infinity in an update ends the run, and is named


@dataclass(frozen=True, slots=True, kw_only=True)
class Logging:
    """What is kept. Records are written at every multiple of ``log_interval``; what is due, with the next."""

    log_interval: Annotated[int, Ge(1)] = 500  # steps between two records, a multiple of num_envs
    save_interval: Annotated[int, Ge(1)] = 10_000  # steps between checkpoints
    eval_interval: Annotated[int, Ge(1)] = 1_000  # steps between evaluations
    eval_episodes: Annotated[int, Ge(1)] = 10  # greedy episodes in each of them
    final_eval_episodes: Annotated[int, Ge(1)] = 100  # greedy episodes after training
    success_return: float = 195.0  # from this return on an episode of an evaluation is a success


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Everything that a recipe can set."""

    environment: Environment
    model: Model = Model()
    training: Training = Training()
    logging: Logging = Logging()


# --- The network ---------------------------------------------------------------------------------


class QNetwork(nn.Module):
    """A perceptron with ReLUs; initial weights and biases uniform within 1/√fan_in.

    Args:
        num_inputs: Length of an observation.
        num_actions: How many actions there are.
        hidden_sizes: Width of each hidden layer.
    """

    def __init__(self, num_inputs: int, num_actions: int, hidden_sizes: tuple[int, ...]) -> None:
        super().__init__()
        self.weights, self.biases = nn.ParameterList(), nn.ParameterList()
        for fan_in, fan_out in pairwise((num_inputs, *hidden_sizes, num_actions)):
            bound = 1 / math.sqrt(fan_in)
            self.weights.append(nn.Parameter((2 * torch.rand(fan_in, fan_out) - 1) * bound))
            self.biases.append(nn.Parameter((2 * torch.rand(fan_out) - 1) * bound))

    def forward(self, observations: Tensor) -> Tensor:
        """Values, float32 [batch, num_actions]."""
        *below, last = zip(self.weights, self.biases, strict=True)
        hidden = observations
        for weight, bias in below:
            hidden = torch.relu(hidden @ weight + bias)
        values: Tensor = hidden @ last[0] + last[1]
        return values


def papers_loss(model: QNetwork, target: QNetwork, batch: Batch, gamma: float) -> Tensor:
    """The loss as the paper has it (its equation 2; for a drawn batch), to be read: ``Learner`` lowers it."""
    actions, terminated = torch.from_numpy(batch.actions), torch.from_numpy(batch.terminated)
    with torch.no_grad():
        following = target(torch.from_numpy(batch.next_observations)).amax(dim=1)
        targets = torch.from_numpy(batch.rewards) + gamma * torch.where(terminated, 0.0, following)
    values = model(torch.from_numpy(batch.observations))
    chosen = values.gather(1, actions.unsqueeze(1)).squeeze(1)
    weights = torch.ones(()) if batch.weights is None else torch.from_numpy(batch.weights)
    loss: Tensor = (weights * (targets - chosen) ** 2).mean()
    return loss


# --- Learning ------------------------------------------------------------------------------------


class Learner:
    """The network, its target (another of the same shape), its optimizer and what they learn from."""

    def __init__(self, model: QNetwork, target: QNetwork, replay: ReplayBuffer, settings: Training) -> None:
        self.model, self.target, self.replay, self.settings = model, target, replay, settings
        self.adam = adam_of(model, epsilon=settings.adam_epsilon, precision=settings.precision)
        self.target.load_state_dict(model.state_dict())
        precision, looks = settings.precision, settings.detect_anomaly
        self.network = WrittenOut(model.weights, model.biases, precision=precision, must_be_finite=looks)
        self.target_network = WrittenOut(
            target.weights, target.biases, precision=precision, must_be_finite=looks
        )
        self.num_updates, self.largest_reward = 0, 0.0

    def values(self, observations: np.ndarray) -> np.ndarray:
        """The values of all actions, float32 [batch, num_actions]: the greedy policy takes the highest."""
        return self.network.forward(observations).outputs

    def learn(self, *, learning_rate: float) -> tuple[float, float, float, float]:
        """One update; returns its loss, mean and largest size of the values, and the gradient's norm."""
        settings, batch = self.settings, self.replay.sample(self.settings.batch_size)
        self.adam.gradients.zero_()
        parts = batch.parts(settings.gradient_accumulation_steps)
        errors, values = map(np.concatenate, zip(*map(self.add_gradients, parts), strict=True))
        max_norm = settings.max_grad_norm or math.inf
        norm = self.adam.step(learning_rate=learning_rate, max_norm=max_norm).item()
        self.replay.sampler.learned(batch.places, errors)
        self.num_updates += 1
        if self.num_updates % settings.target_update == 0:
            self.target.load_state_dict(self.model.state_dict())
        squares = errors * errors if batch.weights is None else batch.weights * errors * errors
        return float(squares.mean()), float(values.mean()), float(np.abs(values).max()), norm

    def add_gradients(self, part: Batch) -> tuple[np.ndarray, np.ndarray]:
        """Add the gradients of one part of a batch; returns its errors and values, float32 [n] each."""
        settings = self.settings
        following = self.target_network.forward(part.next_observations).outputs.max(axis=1)
        following[part.terminated] = 0  # nothing follows a terminal state
        targets = part.rewards + np.float32(settings.gamma) * following
        passed = self.network.forward(part.observations)
        rows = np.arange(len(part.actions))
        chosen = passed.outputs[rows, part.actions]
        errors = chosen - targets
        # d/dQ of papers_loss: of the mean of weights · (target - Q)², over the whole batch
        slope = errors * np.float32(2 / settings.batch_size)
        slopes = np.zeros_like(passed.outputs)
        slopes[rows, part.actions] = slope if part.weights is None else slope * part.weights
        self.network.add_gradients(passed, self.adam.scaled(slopes))
        return errors, chosen

    def state_dict(self) -> dict[str, Any]:
        """What is neither the model's nor the optimizer's."""
        return {
            "target": self.target.state_dict(),
            "replay": self.replay.state_dict(),
            "num_updates": self.num_updates,
            "largest_reward": self.largest_reward,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.target.load_state_dict(state["target"])
        self.replay.load_state_dict(state["replay"])
        self.num_updates, self.largest_reward = state["num_updates"], state["largest_reward"]


def epsilon_at(step: int, settings: Training) -> float:
    """The chance of a random action in a step."""
    left = falling(step, over=settings.epsilon_decay)
    return settings.epsilon_end + (settings.epsilon_start - settings.epsilon_end) * left


def learning_rate_at(step: int, settings: Training) -> float:
    """The learning rate of an update after so many steps."""
    left = falling(step, over=settings.total_timesteps) if settings.lr_schedule == "linear" else 1.0
    return settings.learning_rate * rising(step, over=settings.lr_warmup_steps) * left


# --- Training ------------------------------------------------------------------------------------


def train(config: Config, run: Run) -> None:
    """Train an agent and write its records.

    Args:
        config: The recipe's settings.
        run: Seeds, device, data, and where the records go.
    """
    check(config)
    environment, settings, logging = config.environment, config.training, config.logging
    run.seeding.seed_everything()
    num_steps = environment.max_episode_steps
    spec = spec_of(environment.name, max_episode_steps=num_steps, own=[pinpad.SPEC])
    players = Players([spec] * environment.num_envs, run.seeding.environment_seeds(environment.num_envs))
    generators = {name: run.seeding.numpy_generator(name) for name in ("exploration", "replay")}
    learner = learner_of(config, run, players, generators["replay"])
    state = TrainingState(
        run,
        model=learner.model,
        optimizer=learner.adam,
        environments=players.envs,
        generators=generators,
        others={"players": players, "learner": learner},
    )
    step, beyond = state.resume(), False

    while step < settings.total_timesteps:
        before = step
        step, record = play_and_learn(players, learner, generators["exploration"], config, step=step)
        record |= players.record()
        record |= judge_values(record, learner.largest_reward, gamma=settings.gamma, num_steps=num_steps)
        beyond = warn_beyond_bound(record, step=step, already=beyond)
        state.trace(step, beside={f"target.{name}": one for name, one in learner.target.named_parameters()})
        if is_due(logging.eval_interval, before, step):
            seed = run.seeding.derive("evaluation", step // logging.eval_interval)
            returns = evaluate(spec, learner.values, num_episodes=logging.eval_episodes, seed=seed)
            record |= {"eval/return_mean": returns.mean(), "eval/return_std": returns.std()}
            record |= {"eval/success_rate": (returns >= logging.success_return).mean()}
        if step >= settings.total_timesteps:
            seed = run.seeding.derive("final_evaluation")
            returns = evaluate(spec, learner.values, num_episodes=logging.final_eval_episodes, seed=seed)
            record |= final_record(returns, logging.success_return)
        run.metrics.write(step=step, **record)
        if is_due(logging.save_interval, before, step):
            state.save(step)
        run.timing.write(step=step, total_steps=settings.total_timesteps, phase="train")
    run.checkpoints.save_final(learner.model)


def check(config: Config) -> None:
    """Refuse settings that are right each by itself, but not together."""
    settings, num_envs = config.training, config.environment.num_envs
    intervals = {"train_frequency": settings.train_frequency, "log_interval": config.logging.log_interval}
    for name, steps in intervals.items():
        if steps % num_envs:
            raise ValueError(f"{name} {steps} is no multiple of num_envs {num_envs}")
    if settings.batch_size % settings.gradient_accumulation_steps:
        raise ValueError(f"gradient_accumulation_steps does not divide batch_size {settings.batch_size}")


def learner_of(config: Config, run: Run, players: Players, generator: np.random.Generator) -> Learner:
    """The networks with their initial weights, and an empty replay buffer."""
    settings, size = config.training, players.observations.shape[1]
    sampler = sampler_of(
        settings.replay,
        settings.buffer_size,
        generator,
        priority_exponent=settings.priority_exponent,
        importance_exponent=settings.importance_exponent,
    )
    with run.seeding.initialising():
        model, target = (
            QNetwork(size, players.num_actions, config.model.hidden_sizes).to(run.device) for _ in range(2)
        )
    if config.model.pretrained is not None:
        start_from(model, run.data[config.model.pretrained])
    replay = ReplayBuffer(settings.buffer_size, observation_size=size, sampler=sampler)
    return Learner(model, target, replay, settings)


def play_and_learn(
    players: Players, learner: Learner, exploration: np.random.Generator, config: Config, *, step: int
) -> tuple[int, dict[str, float]]:
    """Steps up to the next record; returns the step then, and what the updates were like."""
    settings, num_envs = config.training, len(players.envs)
    shape = (config.logging.log_interval // num_envs, num_envs)
    chances, actions = exploration.random(shape), exploration.integers(players.num_actions, size=shape)
    told = []
    for chance, chosen in zip(chances, actions, strict=True):
        explores = chance < epsilon_at(step, settings)
        if not explores.all():
            chosen[~explores] = learner.values(players.observations[~explores]).argmax(axis=1)
        play(players, chosen.tolist(), learner)
        step += num_envs
        if step > settings.learning_starts and step % settings.train_frequency == 0:
            learning_rate = learning_rate_at(step, settings)
            told += [learner.learn(learning_rate=learning_rate) for _ in range(settings.gradient_steps)]
    record = {"exploration/epsilon": epsilon_at(step, settings), "replay/size": len(learner.replay)}
    record["optim/learning_rate"] = learning_rate_at(step, settings)
    if told:
        losses, values, sizes, norms = np.array(told).T
        record |= {"loss/td": losses.mean(), "q/mean": values.mean(), "q/magnitude": sizes.max()}
        record |= {"optim/grad_norm": norms.mean(), **learner.adam.record()}
    return step, record


def play(players: Players, actions: list[int], learner: Learner) -> None:
    """One step in every environment, kept in the replay buffer; where it only cuts off, something follows."""
    before = players.observations.copy()
    for i, (following, reward, terminated, _) in enumerate(players.step(actions)):
        learner.replay.add(
            before[i], action=actions[i], reward=reward, next_observation=following, terminated=terminated
        )
        learner.largest_reward = max(learner.largest_reward, abs(reward))
