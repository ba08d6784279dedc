"""Deep Q-learning (DQN) for environments with discrete actions: one file, top to bottom.

Q-learning with a replay buffer and a target network (https://doi.org/10.1038/nature14236). What the
documents behind the recipes leave open, and what was measured, is in docs/decisions/0014-dqn-open-choices.md.

One choice is for speed, and changes no mathematics: on a CPU in float32 the gradient of the squared
error is written out in numpy. There is an update for every step, on networks so small that the calls cost
more than the sums, and PyTorch's autograd, which does the same everywhere else, takes three times as long.

    $ python -m reprokit.runtime.launch --run-dir out --config config.yaml --seed 42 -- dqn.py
"""

from __future__ import annotations

import math
import sys
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Annotated, Any, Literal

import gymnasium
import numpy as np
import torch
from torch import Tensor, nn

from recipes.parts import pinpad
from recipes.parts.flat_adam import FlatAdam
from recipes.parts.pretrained import start_from
from recipes.parts.replay_buffers import Batch, ReplayBuffer
from recipes.parts.replay_sampling import sampler_of
from reprokit.runtime import checkpoint
from reprokit.runtime.config import Ge, Gt, Le, MinLen
from reprokit.runtime.run import Run

# --- Settings ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """What is played.

    Attributes:
        name: A gymnasium environment with a flat observation and discrete actions, or ``PinPad-v0``.
        num_envs: How many are played side by side, each with a seed of its own.
        max_episode_steps: An episode is cut off (truncated) after so many steps.
    """

    name: str
    num_envs: Annotated[int, Ge(1)] = 1
    max_episode_steps: Annotated[int, Ge(1)] = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A perceptron from an observation to the value of each action.

    Attributes:
        architecture: Fully connected layers.
        hidden_sizes: Their widths; a ReLU follows each.
        pretrained: A data set of the recipe: ``final_model.pt`` or a checkpoint to start from.
    """

    architecture: Literal["mlp"] = "mlp"
    hidden_sizes: Annotated[tuple[Annotated[int, Ge(1)], ...], MinLen(1)] = (128,)
    pretrained: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """DQN's settings. Steps are environment steps, all environments together, unless said otherwise.

    Attributes:
        total_timesteps: Training ends with the first record at or after it.
        learning_rate: What it is after the warm-up and before it falls.
        lr_schedule: ``linear`` falls from ``learning_rate`` to 0 at ``total_timesteps``.
        lr_warmup_steps: Steps over which the learning rate rises from 0.
        adam_epsilon: Added to the root in Adam's denominator.
        batch_size: Transitions in an update.
        gamma: Discount.
        epsilon_start: Chance of a random action in the first step.
        epsilon_end: The same from ``epsilon_decay`` on.
        epsilon_decay: Steps over which it falls, linearly.
        buffer_size: Transitions in the replay buffer.
        replay: How they are drawn from it (``recipes.parts.replay_sampling``).
        priority_exponent: Of the prioritised replay: 0 draws uniformly.
        importance_exponent: Of the prioritised replay: 1 corrects the uneven chances in full.
        learning_starts: Steps before the first update.
        train_frequency: Steps between two trainings, a multiple of ``num_envs``.
        gradient_steps: Updates in a training.
        target_update: Updates between two copies of the network into the target network.
        max_grad_norm: Longer gradients are scaled down to this; null for any length.
        gradient_accumulation_steps: A batch is put through the networks in so many parts.
        precision: ``bfloat16`` computes the networks under autocast; parameters stay float32.
        detect_anomaly: A NaN or infinity in an update ends the run, and names where it came up first.
    """

    algorithm: Literal["dqn"] = "dqn"
    total_timesteps: Annotated[int, Gt(0)] = 50_000
    learning_rate: Annotated[float, Gt(0)] = 3e-4
    lr_schedule: Literal["constant", "linear"] = "constant"
    lr_warmup_steps: Annotated[int, Ge(0)] = 0
    adam_epsilon: Annotated[float, Gt(0)] = 1e-8
    batch_size: Annotated[int, Ge(1)] = 64
    gamma: Annotated[float, Ge(0), Le(1)] = 0.99
    epsilon_start: Annotated[float, Ge(0), Le(1)] = 1.0
    epsilon_end: Annotated[float, Ge(0), Le(1)] = 0.01
    epsilon_decay: Annotated[int, Ge(1)] = 10_000
    buffer_size: Annotated[int, Ge(1)] = 10_000
    replay: Literal["uniform", "time_balanced", "time_balanced_naive", "prioritised"] = "uniform"
    priority_exponent: Annotated[float, Ge(0)] = 0.6
    importance_exponent: Annotated[float, Ge(0), Le(1)] = 0.4
    learning_starts: Annotated[int, Ge(0)] = 1_000
    train_frequency: Annotated[int, Ge(1)] = 1
    gradient_steps: Annotated[int, Ge(1)] = 1
    target_update: Annotated[int, Ge(1)] = 100
    max_grad_norm: Annotated[float, Gt(0)] | None = None
    gradient_accumulation_steps: Annotated[int, Ge(1)] = 1
    precision: Literal["float32", "bfloat16"] = "float32"
    detect_anomaly: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Logging:
    """What is kept. Records are written at every multiple of ``log_interval``; what is due, with the next.

    Attributes:
        log_interval: Steps between two records of metrics and of the trace, a multiple of ``num_envs``.
        save_interval: Steps between checkpoints.
        eval_interval: Steps between evaluations.
        eval_episodes: Greedy episodes in each of them.
        final_eval_episodes: Greedy episodes after training.
        success_return: An episode of an evaluation counts as a success from this return on.
    """

    log_interval: Annotated[int, Ge(1)] = 500
    save_interval: Annotated[int, Ge(1)] = 10_000
    eval_interval: Annotated[int, Ge(1)] = 1_000
    eval_episodes: Annotated[int, Ge(1)] = 10
    final_eval_episodes: Annotated[int, Ge(1)] = 100
    success_return: float = 195.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Everything that a recipe can set."""

    environment: Environment
    model: Model = Model()
    training: Training = Training()
    logging: Logging = Logging()


# --- The network ---------------------------------------------------------------------------------

Layers = list[tuple[np.ndarray, np.ndarray]]


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

    def layers(self) -> Layers:
        """Weight and bias of every layer: arrays over the parameters' own memory on a CPU, else copies."""
        pairs = zip(self.weights, self.biases, strict=True)
        return [(weight.numpy(force=True), bias.numpy(force=True)) for weight, bias in pairs]

    def gradients(self) -> Layers:
        """Their gradients, likewise."""
        pairs = zip(self.weights, self.biases, strict=True)
        return [
            (weight.grad.numpy(), bias.grad.numpy())
            for weight, bias in pairs
            if weight.grad is not None and bias.grad is not None
        ]


def hidden_and_values(layers: Layers, observations: np.ndarray) -> list[np.ndarray]:
    """What goes into each layer, float32 [batch, fan_in], and what comes out of the last: the values."""
    found = [observations]
    for number, (weight, bias) in enumerate(layers):
        out = found[-1] @ weight
        out += bias
        found.append(np.maximum(out, 0, out=out) if number < len(layers) - 1 else out)
    return found


# --- Playing -------------------------------------------------------------------------------------


def spec_of(settings: Environment) -> gymnasium.envs.registration.EnvSpec:
    """What is played, with the limit on steps that the recipe sets."""
    known = pinpad.SPEC if settings.name == pinpad.SPEC.id else gymnasium.spec(settings.name)
    return replace(known, max_episode_steps=settings.max_episode_steps)


class Players:
    """Environments played side by side, each with a generator of its own.

    An episode that ends is started anew in the same step; its true last observation goes into the replay
    buffer, and whether it was terminal: an episode that was only cut off has a future that counts.

    Args:
        spec: What to play.
        seeds: One for each environment.
    """

    def __init__(self, spec: gymnasium.envs.registration.EnvSpec, seeds: list[int]) -> None:
        self.envs = [gymnasium.make(spec, disable_env_checker=True) for _ in seeds]
        starts = [env.reset(seed=seed)[0] for env, seed in zip(self.envs, seeds, strict=True)]
        self.observations = np.stack(starts).astype(np.float32)
        if not isinstance(actions := self.envs[0].action_space, gymnasium.spaces.Discrete):
            raise TypeError(f"{spec.id} has no discrete actions but {actions}")
        self.num_actions = int(actions.n)
        self.returns, self.lengths = np.zeros(len(seeds)), np.zeros(len(seeds), dtype=np.int64)
        self.recent: deque[tuple[float, int]] = deque(maxlen=100)
        self.largest_reward = 0.0

    def step(self, actions: np.ndarray, buffer: ReplayBuffer) -> None:
        """One step in every environment, kept in the buffer."""
        for i, (env, action) in enumerate(zip(self.envs, actions.tolist(), strict=True)):
            following, reward, terminated, truncated, _ = env.step(action)
            reward = float(reward)
            buffer.add(
                self.observations[i],
                action=action,
                reward=reward,
                next_observation=following,
                terminated=terminated,
            )
            self.returns[i] += reward
            self.lengths[i] += 1
            self.largest_reward = max(self.largest_reward, abs(reward))
            if terminated or truncated:
                self.recent.append((float(self.returns[i]), int(self.lengths[i])))
                self.returns[i], self.lengths[i] = 0.0, 0
                following, _ = env.reset()
            self.observations[i] = following

    def record(self) -> dict[str, float]:
        """Means over the last 100 episodes that ended; NaN before the first."""
        scores, lengths = zip(*self.recent, strict=True) if self.recent else ((math.nan,), (math.nan,))
        return {"train/episodic_return": np.mean(scores), "train/episodic_length": np.mean(lengths)}

    def state_dict(self) -> dict[str, Any]:
        return {
            "observations": torch.from_numpy(self.observations),
            "returns": self.returns.tolist(),
            "lengths": self.lengths.tolist(),
            "recent": [list(episode) for episode in self.recent],
            "largest_reward": self.largest_reward,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.observations[:] = state["observations"].numpy()
        self.returns[:], self.lengths[:] = state["returns"], state["lengths"]
        self.recent.extend((score, length) for score, length in state["recent"])
        self.largest_reward = state["largest_reward"]


def evaluate(
    spec: gymnasium.envs.registration.EnvSpec,
    policy: Callable[[np.ndarray], np.ndarray],
    *,
    num_episodes: int,
    seed: int,
) -> np.ndarray:
    """Returns of greedy episodes, float64 [num_episodes], in environments made for this call alone."""
    envs = gymnasium.make_vec(spec, num_envs=num_episodes)
    observations, _ = envs.reset(seed=seed)
    returns, playing = np.zeros(num_episodes), np.ones(num_episodes, dtype=bool)
    while playing.any():  # one episode each: an environment that is done plays on, and no longer counts
        observations, rewards, terminated, truncated, _ = envs.step(policy(observations))
        returns += np.where(playing, rewards, 0.0)
        playing &= ~(terminated | truncated)
    envs.close()
    return returns


# --- Learning ------------------------------------------------------------------------------------


class Learner:
    """The network, its target, its optimizer and what they learn from.

    Args:
        model: The network, on its device.
        target: Another of the same shape.
        replay: What was played.
        settings: DQN's settings.
    """

    def __init__(self, model: QNetwork, target: QNetwork, replay: ReplayBuffer, settings: Training) -> None:
        self.model, self.target, self.replay, self.settings = model, target, replay, settings
        self.adam = FlatAdam(model, epsilon=settings.adam_epsilon)
        self.target.load_state_dict(model.state_dict())
        self.num_updates = 0
        self.by_hand = settings.precision == "float32" and self.adam.values.device.type == "cpu"
        # The parameters' own memory: it stays where it is, whatever is learned, copied or loaded.
        self.layers, self.target_layers = model.layers(), target.layers()
        self.gradients = model.gradients() if self.by_hand else []

    def policy(self) -> Callable[[np.ndarray], np.ndarray]:
        """The greedy policy as it stands now: the best action of each row, int64 [batch]."""
        layers = self.layers if self.by_hand else self.model.layers()
        return lambda observations: hidden_and_values(layers, observations)[-1].argmax(axis=1)

    def learn(self, *, learning_rate: float) -> tuple[float, float, float, float]:
        """One update; returns its loss, mean and largest size of the values, and the gradient's norm."""
        batch = self.replay.sample(self.settings.batch_size)
        self.adam.gradients.zero_()
        number = self.settings.gradient_accumulation_steps
        add = self._add_gradients if self.by_hand else self._add_gradients_by_autograd
        errors, values = map(np.concatenate, zip(*map(add, batch.parts(number)), strict=True))
        norm = self.adam.step(
            learning_rate=learning_rate, max_norm=self.settings.max_grad_norm or math.inf
        ).item()
        self.replay.sampler.learned(batch.places, errors)
        self.num_updates += 1
        if self.num_updates % self.settings.target_update == 0:
            self.target.load_state_dict(self.model.state_dict())
        squares = errors * errors if batch.weights is None else batch.weights * errors * errors
        return float(squares.mean()), float(values.mean()), float(np.abs(values).max()), norm

    def _add_gradients(self, part: Batch) -> tuple[np.ndarray, np.ndarray]:
        """Add the gradients of one part of a batch; returns its errors and values, float32 [n] each."""
        following = hidden_and_values(self.target_layers, part.next_observations)[-1]
        targets = targets_of(part, following.max(axis=1), self.settings.gamma)
        *inputs, values = hidden_and_values(self.layers, part.observations)
        rows = np.arange(len(part.actions))
        chosen = values[rows, part.actions]
        errors = chosen - targets
        # d/dQ of the mean of weights · (Q - target)², of the whole batch
        slope = errors * np.float32(2 / self.settings.batch_size)
        delta = np.zeros_like(values)
        delta[rows, part.actions] = slope if part.weights is None else slope * part.weights
        if self.settings.detect_anomaly:
            raise_at_first_not_finite([*inputs, values], following, targets)
        for number in reversed(range(len(self.layers))):
            for_weight, for_bias = self.gradients[number]
            for_weight += inputs[number].T @ delta
            for_bias += delta.sum(axis=0)
            if self.settings.detect_anomaly and not np.isfinite(for_weight).all():
                raise FloatingPointError(f"the gradient of weights.{number} is not finite")
            if number:
                delta = delta @ self.layers[number][0].T
                delta *= inputs[number] > 0
        return errors, chosen

    def _add_gradients_by_autograd(self, part: Batch) -> tuple[np.ndarray, np.ndarray]:
        """The same by PyTorch, on whatever device, in whatever precision."""
        settings, device = self.settings, self.adam.values.device
        observations, actions = torch.from_numpy(part.observations), torch.from_numpy(part.actions)
        with (
            torch.autograd.set_detect_anomaly(settings.detect_anomaly),
            torch.autocast(device.type, dtype=torch.bfloat16, enabled=settings.precision == "bfloat16"),
        ):
            with torch.no_grad():
                following = self.target(torch.from_numpy(part.next_observations).to(device)).float()
            best = following.amax(dim=1).numpy(force=True)
            values = self.model(observations.to(device)).float()
            chosen = values.gather(1, actions.to(device).unsqueeze(1)).squeeze(1)
            targets = torch.from_numpy(targets_of(part, best, settings.gamma)).to(device)
            errors = chosen - targets
            weights = 1.0 if part.weights is None else torch.from_numpy(part.weights).to(device)
            torch.autograd.backward((weights * errors * errors).sum() / settings.batch_size)
        return errors.numpy(force=True), chosen.numpy(force=True)

    def state_dict(self) -> dict[str, Any]:
        """What is neither the model's nor the optimizer's."""
        return {
            "target": self.target.state_dict(),
            "replay": self.replay.state_dict(),
            "num_updates": self.num_updates,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.target.load_state_dict(state["target"])
        self.replay.load_state_dict(state["replay"])
        self.num_updates = state["num_updates"]


def targets_of(batch: Batch, following: np.ndarray, gamma: float) -> np.ndarray:
    """What the values should be, float32 [n]: the reward and what follows; nothing after a terminal state."""
    targets: np.ndarray = batch.rewards + np.float32(gamma) * np.where(batch.terminated, 0, following)
    return targets.astype(np.float32)


def raise_at_first_not_finite(outs: list[np.ndarray], following: np.ndarray, targets: np.ndarray) -> None:
    """Name the first of them that holds a NaN or an infinity."""
    named = {"the observations": outs[0]}
    named |= {f"the output of layer {number}": out for number, out in enumerate(outs[1:])}
    named |= {"the target network's values": following, "the targets": targets}
    for name, values in named.items():
        if not np.isfinite(values).all():
            raise FloatingPointError(
                f"{name} are not finite: {np.count_nonzero(~np.isfinite(values))} values"
            )


def epsilon_at(step: int, settings: Training) -> float:
    """The chance of a random action in a step."""
    left = max(0.0, 1 - step / settings.epsilon_decay)
    return settings.epsilon_end + (settings.epsilon_start - settings.epsilon_end) * left


def learning_rate_at(step: int, settings: Training) -> float:
    """The learning rate of an update after so many steps."""
    rising = min(1.0, step / settings.lr_warmup_steps) if settings.lr_warmup_steps else 1.0
    falling = max(0.0, 1 - step / settings.total_timesteps) if settings.lr_schedule == "linear" else 1.0
    return settings.learning_rate * rising * falling


def value_bound(largest_reward: float, *, gamma: float, num_steps: int) -> float:
    """The most that an episode of so many steps can be worth: the sum of γ^t times the largest reward."""
    horizon = float(num_steps) if gamma == 1 else (1 - gamma**num_steps) / (1 - gamma)
    return largest_reward * horizon


# --- Training ------------------------------------------------------------------------------------


def train(config: Config, run: Run) -> None:
    """Train an agent and write its records.

    Args:
        config: The recipe's settings.
        run: Seeds, device, and where the records go.
    """
    check(config)
    settings, logging = config.training, config.logging
    run.seeding.seed_everything()
    spec = spec_of(config.environment)
    players = Players(spec, run.seeding.environment_seeds(config.environment.num_envs))
    generators = {name: run.seeding.numpy_generator(name) for name in ("exploration", "replay")}
    learner = learner_of(config, run, players, generators["replay"])
    step, beyond = resume(run, learner=learner, players=players, generators=generators), False

    while step < settings.total_timesteps:
        before = step
        step, record = play_and_learn(players, learner, generators["exploration"], config, step=step)
        record |= players.record() | judge_values(record, players.largest_reward, config)
        beyond = warn_beyond_bound(record, step=step, already=beyond)
        trace(run, learner, players, generators, step=step)
        policy = learner.policy()
        if is_due(logging.eval_interval, before, step):
            seed = run.seeding.derive("evaluation", step // logging.eval_interval)
            returns = evaluate(spec, policy, num_episodes=logging.eval_episodes, seed=seed)
            record |= {"eval/return_mean": returns.mean(), "eval/return_std": returns.std()}
            record |= {"eval/success_rate": (returns >= logging.success_return).mean()}
        if step >= settings.total_timesteps:
            seed = run.seeding.derive("final_evaluation")
            returns = evaluate(spec, policy, num_episodes=logging.final_eval_episodes, seed=seed)
            record |= final_record(returns, logging.success_return)
        run.metrics.write(step=step, **record)
        if is_due(logging.save_interval, before, step):
            save(run, learner, players, generators, step=step)
        run.timing.write(step=step, total_steps=settings.total_timesteps, phase="train")
    run.checkpoints.save_final(learner.model)


def check(config: Config) -> None:
    """Settings that are right each by itself, but not together."""
    settings, num_envs = config.training, config.environment.num_envs
    for name, steps in {
        "train_frequency": settings.train_frequency,
        "log_interval": config.logging.log_interval,
    }.items():
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
            chosen[~explores] = learner.policy()(players.observations[~explores])
        players.step(chosen, learner.replay)
        step += num_envs
        if step > settings.learning_starts and step % settings.train_frequency == 0:
            learning_rate = learning_rate_at(step, settings)
            told += [learner.learn(learning_rate=learning_rate) for _ in range(settings.gradient_steps)]
    record = {"exploration/epsilon": epsilon_at(step, settings), "replay/size": len(learner.replay)}
    record["optim/learning_rate"] = learning_rate_at(step, settings)
    if told:
        losses, values, sizes, norms = np.array(told).T
        record |= {"loss/td": losses.mean(), "q/mean": values.mean(), "q/magnitude": sizes.max()}
        record |= {"optim/grad_norm": norms.mean()}
    return step, record


def judge_values(record: dict[str, float], largest_reward: float, config: Config) -> dict[str, float]:
    """The values' bound, and whether they are beyond it: then they are overestimated, or diverge."""
    num_steps = config.environment.max_episode_steps
    bound = value_bound(largest_reward, gamma=config.training.gamma, num_steps=num_steps)
    within = largest_reward == 0 or record.get("q/magnitude", 0.0) <= bound  # no reward seen, no bound
    return {"q/bound": bound, "q/beyond_bound": float(not within)}


def warn_beyond_bound(record: dict[str, float], *, step: int, already: bool) -> bool:
    """Say so on stderr when the values leave their bound, once for each time that they do."""
    beyond = bool(record["q/beyond_bound"])
    if beyond and not already:
        sys.stderr.write(
            f"warning: step {step}: values of up to {record['q/magnitude']:.4g}, where no episode's "
            f"return can exceed {record['q/bound']:.4g}\n"
        )
    return beyond


def trace(
    run: Run, learner: Learner, players: Players, generators: dict[str, np.random.Generator], *, step: int
) -> None:
    """Write digests of everything that decides the next update; the target's parameters as ``target.…``."""
    target = {f"target.{name}": one for name, one in learner.target.named_parameters()}
    model = dict(learner.model.named_parameters())
    run.trace.update(
        step=step,
        parameters={**model, **target},
        gradients={name: one.grad for name, one in model.items() if one.grad is not None},
        optimizer=learner.adam.state_dict(),
        generators=generators,
        environments=players.envs,
    )


def save(
    run: Run, learner: Learner, players: Players, generators: dict[str, np.random.Generator], *, step: int
) -> None:
    """Write a checkpoint from which ``resume`` goes on."""
    extra = {"players": players.state_dict(), "learner": learner.state_dict(), "updates": run.trace.updates}
    run.checkpoints.save(
        checkpoint.training_state(
            step=step,
            model=learner.model,
            optimizer=learner.adam,
            generators=generators,
            environments=players.envs,
            extra=extra,
        )
    )


def resume(
    run: Run, *, learner: Learner, players: Players, generators: dict[str, np.random.Generator]
) -> int:
    """Go on from the checkpoint that the run names, if it names one. Returns the step to go on from."""
    state = run.load_checkpoint()
    if state is None:
        return 0
    step, extra = checkpoint.restore(
        state,
        model=learner.model,
        optimizer=learner.adam,
        generators=generators,
        environments=players.envs,
    )
    players.load_state_dict(extra["players"])
    learner.load_state_dict(extra["learner"])
    run.trace.resume_at(extra["updates"])
    run.timing.resume_at(step)
    return step


def is_due(interval: int, before: int, now: int) -> bool:
    """Whether a multiple of the interval lies in ``(before, now]``."""
    return now // interval > before // interval


def final_record(returns: np.ndarray, success_return: float) -> dict[str, float]:
    """What the final evaluation came to."""
    return {
        "final/return_mean": returns.mean(),
        "final/return_std": returns.std(),
        "final/return_min": returns.min(),
        "final/return_max": returns.max(),
        "final/success_rate": (returns >= success_return).mean(),
    }
