"""Proximal policy optimisation (PPO) for environments with discrete actions: one file, top to bottom.

The clipped objective of Schulman et al. (https://arxiv.org/abs/1707.06347) with generalised
advantage estimation (https://arxiv.org/abs/1506.02438). What these papers leave open is in
docs/decisions/0002-ppo-open-choices.md.

Three choices are for speed, and change no mathematics: actor and critic share batched matrix
products, all parameters lie in one vector, and acting is plain numpy. An update is PyTorch's own
autograd.

    $ python -m reprokit.runtime.launch --run-dir out --config config.yaml --seed 42 -- ppo.py
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Annotated, Any, Literal, NamedTuple

import gymnasium
import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from reprokit.runtime import checkpoint
from reprokit.runtime.config import Ge, Gt, Le, MinLen
from reprokit.runtime.run import Run

# --- Settings ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """What is played.

    Attributes:
        name: A gymnasium environment with a flat observation and discrete actions.
        num_envs: How many are played side by side.
        max_episode_steps: An episode is cut off (truncated) after so many steps.
    """

    name: str
    num_envs: Annotated[int, Ge(1)] = 8
    max_episode_steps: Annotated[int, Ge(1)] = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """Actor and critic: two networks of this shape that share nothing."""

    architecture: Literal["mlp"] = "mlp"
    hidden_sizes: Annotated[tuple[Annotated[int, Ge(1)], ...], MinLen(1)] = (64, 64)
    activation: Literal["tanh", "relu"] = "tanh"


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """PPO's settings.

    Attributes:
        total_timesteps: Environment steps, all environments together. Training ends with the first
            update at or after it.
        rollout_steps: Steps of each environment between two updates.
        batch_size: Transitions in a minibatch; divides ``rollout_steps`` times ``num_envs``.
        n_epochs: Passes over a rollout in an update.
        learning_rate: Constant.
        adam_epsilon: Added to the root in Adam's denominator.
        gamma: Discount.
        gae_lambda: Weight between one-step (0) and Monte Carlo (1) advantages.
        clip_range: How far a probability ratio counts, to either side of 1.
        ent_coef: Weight of the entropy in the loss.
        vf_coef: Weight of the value loss, the mean squared error.
        max_grad_norm: Longer gradients are scaled down to this.
    """

    algorithm: Literal["ppo"] = "ppo"
    total_timesteps: Annotated[int, Gt(0)] = 100_000
    rollout_steps: Annotated[int, Ge(1)] = 512
    batch_size: Annotated[int, Ge(2)] = 256
    n_epochs: Annotated[int, Ge(1)] = 10
    learning_rate: Annotated[float, Gt(0)] = 3e-4
    adam_epsilon: Annotated[float, Gt(0)] = 1e-5
    gamma: Annotated[float, Ge(0), Le(1)] = 0.99
    gae_lambda: Annotated[float, Ge(0), Le(1)] = 0.95
    clip_range: Annotated[float, Gt(0)] = 0.2
    ent_coef: Annotated[float, Ge(0)] = 0.0
    vf_coef: Annotated[float, Ge(0)] = 0.5
    max_grad_norm: Annotated[float, Gt(0)] = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Logging:
    """What is kept. Every interval means: at the first end of an update at or after each multiple of it.

    Attributes:
        save_interval: Steps between checkpoints.
        eval_interval: Steps between evaluations.
        eval_episodes: Greedy episodes in each of them.
        final_eval_episodes: Greedy episodes after training.
        success_return: An episode of the final evaluation counts as a success from this return on.
    """

    save_interval: Annotated[int, Ge(1)] = 10_000
    eval_interval: Annotated[int, Ge(1)] = 5_000
    eval_episodes: Annotated[int, Ge(1)] = 10
    final_eval_episodes: Annotated[int, Ge(1)] = 100
    success_return: float = 475.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Everything that a recipe can set."""

    environment: Environment
    model: Model = Model()
    training: Training = Training()
    logging: Logging = Logging()


# --- Networks and optimizer ----------------------------------------------------------------------


class ActorCritic(nn.Module):
    """Two perceptrons of one shape. A hidden layer of both is one batched matrix product.

    Args:
        num_inputs: Length of an observation.
        num_actions: How many actions there are.
        settings: Hidden sizes and activation.
    """

    def __init__(self, num_inputs: int, num_actions: int, settings: Model) -> None:
        super().__init__()
        self.activation: Callable[[Tensor], Tensor] = getattr(torch, settings.activation)
        self.weights, self.biases = nn.ParameterList(), nn.ParameterList()
        for fan_in, fan_out in pairwise((num_inputs, *settings.hidden_sizes)):
            both = torch.stack([orthogonal(fan_in, fan_out, gain=math.sqrt(2)) for _ in range(2)])
            self.weights.append(nn.Parameter(both))
            self.biases.append(nn.Parameter(torch.zeros(2, 1, fan_out)))
        self.layers = list(zip(self.weights, self.biases, strict=True))
        width = settings.hidden_sizes[-1]
        self.policy_weight = nn.Parameter(orthogonal(width, num_actions, gain=0.01))
        self.policy_bias = nn.Parameter(torch.zeros(num_actions))
        self.value_weight = nn.Parameter(orthogonal(width, 1, gain=1.0))
        self.value_bias = nn.Parameter(torch.zeros(1))

    def forward(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        """Logits, float32 [batch, num_actions], and values, float32 [batch]."""
        hidden = observations.expand(2, -1, -1)
        for weight, bias in self.layers:
            hidden = self.activation(torch.baddbmm(bias, hidden, weight))
        actor, critic = hidden
        values = torch.addmm(self.value_bias, critic, self.value_weight)
        return torch.addmm(self.policy_bias, actor, self.policy_weight), values.squeeze(1)

    def actor(self) -> Callable[[np.ndarray], np.ndarray]:
        """The actor as it stands now, in numpy: for a few rows, PyTorch's calls cost more than its sums."""
        activation = np.tanh if self.activation is torch.tanh else lambda x: np.maximum(x, 0)
        layers = [(weight[0].numpy(force=True), bias[0].numpy(force=True)) for weight, bias in self.layers]
        weight, bias = self.policy_weight.numpy(force=True), self.policy_bias.numpy(force=True)

        def logits(observations: np.ndarray) -> np.ndarray:
            hidden = observations
            for layer_weight, layer_bias in layers:
                hidden = activation(hidden @ layer_weight + layer_bias)
            scores: np.ndarray = hidden @ weight + bias
            return scores

        return logits


def orthogonal(fan_in: int, fan_out: int, *, gain: float) -> Tensor:
    """A weight, float32 [fan_in, fan_out], with orthogonal rows or columns."""
    weight = torch.empty(fan_out, fan_in)
    nn.init.orthogonal_(weight, gain)
    transposed: Tensor = weight.T.contiguous()
    return transposed


class Adam:
    """Adam (https://arxiv.org/abs/1412.6980) on one vector that holds all parameters.

    The kernel is the one behind ``torch.optim.Adam(fused=True)``, whose constructor imports the
    compiler (1 s) and whose step costs several times what the kernel does at this size.

    Args:
        model: Its parameters become views of the vector, and their gradients views of another.
        learning_rate: Constant.
        epsilon: Added to the root in the denominator.
    """

    def __init__(self, model: nn.Module, *, learning_rate: float, epsilon: float) -> None:
        parameters = list(model.parameters())
        self.learning_rate, self.epsilon = learning_rate, epsilon
        self.values = nn.utils.parameters_to_vector(parameters).detach()
        self.gradients = torch.zeros_like(self.values)
        nn.utils.vector_to_parameters(self.values, parameters)
        sizes = [parameter.numel() for parameter in parameters]
        for parameter, gradient in zip(parameters, torch.split(self.gradients, sizes), strict=True):
            parameter.grad = gradient.view_as(parameter)
        self.steps = torch.zeros((), device=self.values.device)
        self.mean, self.mean_square = torch.zeros_like(self.values), torch.zeros_like(self.values)

    def step(self, *, max_norm: float) -> Tensor:
        """Scale the gradients down to ``max_norm`` where they are longer, then step.

        Returns:
            The norm that they had.
        """
        norm: Tensor = torch.linalg.vector_norm(self.gradients)
        self.steps += 1
        torch._fused_adam_(
            [self.values],
            [self.gradients],
            [self.mean],
            [self.mean_square],
            [],
            [self.steps],
            lr=self.learning_rate,
            beta1=0.9,
            beta2=0.999,
            weight_decay=0.0,
            eps=self.epsilon,
            amsgrad=False,
            maximize=False,
            grad_scale=(norm / max_norm).clamp(min=1.0),  # the kernel divides the gradients by it first
        )
        return norm

    def state_dict(self) -> dict[str, Tensor]:
        return {"steps": self.steps, "mean": self.mean, "mean_square": self.mean_square}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        for name, tensor in self.state_dict().items():
            tensor.copy_(state[name])


# --- Playing -------------------------------------------------------------------------------------


class Rollout(NamedTuple):
    """What one round of playing gave; numpy arrays [rollout_steps, num_envs, …].

    Attributes:
        observations: One row more than steps: the last is where the next round starts.
        actions: What was done there.
        rewards: What it brought.
        done: Whether it ended the episode, by a terminal state or by the limit on steps.
        cut_at: Step and environment of every episode that was only cut off, int64 [cuts, 2].
        cut_observations: What would have been seen next there.
    """

    observations: np.ndarray
    actions: np.ndarray
    rewards: np.ndarray
    done: np.ndarray
    cut_at: np.ndarray
    cut_observations: np.ndarray


class Players:
    """Environments played side by side, each with a generator of its own.

    An episode that ends is started anew in the same step, so that no transition leads from one
    episode into the next; its true last observation is kept, because a truncated episode has a
    future that the critic must estimate.

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

    def play(self, actor: Callable[[np.ndarray], np.ndarray], num_steps: int) -> Rollout:
        """Play so many steps in every environment, with actions drawn from the actor's distribution."""
        shape = (num_steps, len(self.envs))
        observations = np.empty((num_steps + 1, *self.observations.shape), dtype=np.float32)
        actions, rewards = np.empty(shape, dtype=np.int64), np.empty(shape, dtype=np.float32)
        done = np.zeros(shape, dtype=bool)
        cut: list[tuple[tuple[int, int], np.ndarray]] = []
        # Gumbel noise: the largest of logits + noise is a draw from softmax(logits).
        noise = -torch.rand(*shape, self.num_actions).log().neg().log().numpy()
        for t in range(num_steps):
            observations[t] = self.observations
            actions[t] = (actor(self.observations) + noise[t]).argmax(axis=1)
            for i, (env, action) in enumerate(zip(self.envs, actions[t].tolist(), strict=True)):
                observation, rewards[t, i], terminated, truncated, _ = env.step(action)
                if terminated or truncated:
                    done[t, i] = True
                    if not terminated:
                        cut.append(((t, i), observation))
                    observation, _ = env.reset()
                self.observations[i] = observation
            self._count(rewards[t], done[t])
        observations[num_steps] = self.observations
        return Rollout(
            observations=observations,
            actions=actions,
            rewards=rewards,
            done=done,
            cut_at=np.array([at for at, _ in cut], dtype=np.int64).reshape(-1, 2),
            cut_observations=np.array([seen for _, seen in cut], dtype=np.float32).reshape(
                -1, *self.observations.shape[1:]
            ),
        )

    def _count(self, rewards: np.ndarray, done: np.ndarray) -> None:
        self.returns += rewards
        self.lengths += 1
        for i in np.flatnonzero(done):
            self.recent.append((float(self.returns[i]), int(self.lengths[i])))
            self.returns[i], self.lengths[i] = 0.0, 0

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
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.observations[:] = state["observations"].numpy()
        self.returns[:], self.lengths[:] = state["returns"], state["lengths"]
        self.recent.extend((score, length) for score, length in state["recent"])


def evaluate(
    spec: gymnasium.envs.registration.EnvSpec,
    actor: Callable[[np.ndarray], np.ndarray],
    *,
    num_episodes: int,
    seed: int,
) -> np.ndarray:
    """Returns of greedy episodes, float64 [num_episodes], in environments made for this call alone."""
    envs = gymnasium.make_vec(spec, num_envs=num_episodes)
    observations, _ = envs.reset(seed=seed)
    returns, playing = np.zeros(num_episodes), np.ones(num_episodes, dtype=bool)
    while playing.any():  # one episode each: an environment that is done plays on, and no longer counts
        observations, rewards, terminated, truncated, _ = envs.step(actor(observations).argmax(axis=1))
        returns += np.where(playing, rewards, 0.0)
        playing &= ~(terminated | truncated)
    envs.close()
    return returns


# --- Learning ------------------------------------------------------------------------------------


class Batch(NamedTuple):
    """A rollout as the update sees it; tensors [rollout_steps · num_envs, …]."""

    observations: Tensor
    actions: Tensor
    log_probs: Tensor
    advantages: Tensor
    returns: Tensor
    values: Tensor


class Minibatch(NamedTuple):
    """A random part of a batch; tensors [batch_size, …]. The ratio counts between ``low`` and ``high``."""

    observations: Tensor
    actions: Tensor
    log_probs: Tensor
    returns: Tensor
    advantages: Tensor
    low: Tensor
    high: Tensor


@torch.no_grad()
def prepare(rollout: Rollout, model: ActorCritic, settings: Training) -> Batch:
    """Log-probabilities, values, advantages and returns of a rollout, under the model that played it."""
    num_steps, num_envs = rollout.rewards.shape
    device = model.policy_bias.device
    rows = np.concatenate(
        [rollout.observations.reshape(-1, *rollout.cut_observations.shape[1:]), rollout.cut_observations]
    )
    observations = torch.from_numpy(rows).to(device)
    logits, values = model(observations)
    num_played = num_steps * num_envs
    estimates = values.numpy(force=True)
    next_values = estimates[num_envs : num_played + num_envs].reshape(num_steps, num_envs).copy()
    next_values[rollout.done] = 0.0  # nothing follows a terminal state ...
    next_values[tuple(rollout.cut_at.T)] = estimates[
        num_played + num_envs :
    ]  # ... but an episode cut off goes on
    advantages = advantages_of(
        rollout, estimates[:num_played].reshape(num_steps, num_envs), next_values, settings
    )
    flat_advantages = torch.from_numpy(advantages).flatten().to(device)
    actions = torch.from_numpy(rollout.actions).flatten().to(device)
    return Batch(
        observations=observations[:num_played],
        actions=actions,
        log_probs=-functional.cross_entropy(logits[:num_played], actions, reduction="none"),
        advantages=flat_advantages,
        returns=flat_advantages + values[:num_played],
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


def minibatches(batch: Batch, settings: Training) -> Iterator[Minibatch]:
    """All transitions once, in a new random order; advantages standardised in each minibatch.

    The objective min(A·ratio, A·clip(ratio, 1 - c, 1 + c)) of the paper bounds the ratio only on the
    side where the objective would gain: from above where A > 0, from below where A < 0. So it is
    A·clip(ratio, low, high) with bounds that are known beforehand, for all minibatches at once.
    """
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


def update(model: ActorCritic, adam: Adam, batch: Batch, settings: Training) -> dict[str, float]:
    """One update of PPO; returns the means over its minibatches."""
    losses = []
    for _ in range(settings.n_epochs):
        for part in minibatches(batch, settings):
            logits, values = model(part.observations)
            log_probs = -functional.cross_entropy(logits, part.actions, reduction="none")
            ratio = (log_probs - part.log_probs).exp()
            policy_loss = -(part.advantages * ratio.clamp(part.low, part.high)).mean()
            value_loss = functional.mse_loss(values, part.returns)
            loss = policy_loss + settings.vf_coef * value_loss
            if settings.ent_coef:
                loss = loss - settings.ent_coef * entropy_of(logits).mean()
            adam.gradients.zero_()
            torch.autograd.backward(loss)
            norm = adam.step(max_norm=settings.max_grad_norm)
            losses.append(torch.stack((policy_loss, value_loss, norm)).detach())
    policy, value, norm = torch.stack(losses).mean(dim=0).tolist()
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
        "policy/approx_kl": (ratio - 1 - log_ratio).mean().item(),  # http://joschu.net/blog/kl-approx.html
        "policy/clip_fraction": ((ratio - 1).abs() > settings.clip_range).float().mean().item(),
        "value/explained_variance": 1 - unexplained.item(),
        "value/magnitude": batch.values.abs().mean().item(),
    }


# --- Training ------------------------------------------------------------------------------------


def train(config: Config, run: Run) -> None:
    """Train an agent and write its records.

    Args:
        config: The recipe's settings.
        run: Seeds, device, and where the records go.
    """
    settings, logging = config.training, config.logging
    num_envs = config.environment.num_envs
    if num_envs * settings.rollout_steps % settings.batch_size:
        raise ValueError(f"batch_size {settings.batch_size} does not divide {num_envs} × rollout_steps")
    run.seeding.seed_everything()
    spec = gymnasium.spec(config.environment.name)
    spec = replace(spec, max_episode_steps=config.environment.max_episode_steps)
    players = Players(spec, run.seeding.environment_seeds(num_envs))
    with run.seeding.initialising():
        model = ActorCritic(players.observations.shape[1], players.num_actions, config.model).to(run.device)
    adam = Adam(model, learning_rate=settings.learning_rate, epsilon=settings.adam_epsilon)
    step = resume(run, model=model, adam=adam, players=players)

    while step < settings.total_timesteps:
        rollout = players.play(model.actor(), settings.rollout_steps)
        before, step = step, step + rollout.rewards.size
        batch = prepare(rollout, model, settings)
        record = update(model, adam, batch, settings) | measure(model, batch, settings)
        record |= players.record() | {"optim/learning_rate": settings.learning_rate}
        run.trace.update(
            step=step,
            parameters=dict(model.named_parameters()),
            gradients={name: one.grad for name, one in model.named_parameters() if one.grad is not None},
            optimizer=adam.state_dict(),
            environments=players.envs,
        )
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


def resume(run: Run, *, model: ActorCritic, adam: Adam, players: Players) -> int:
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


def final_record(returns: np.ndarray, success_return: float) -> dict[str, float]:
    """What the final evaluation came to."""
    return {
        "final/return_mean": returns.mean(),
        "final/return_std": returns.std(),
        "final/return_min": returns.min(),
        "final/return_max": returns.max(),
        "final/success_rate": (returns >= success_return).mean(),
    }
