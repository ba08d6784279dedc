"""PPO with what tuning usually adds: normalised observations and rewards, schedules, an early stop.

The algorithm of ``ppo.py`` (https://arxiv.org/abs/1707.06347, https://arxiv.org/abs/1506.02438), and beside
it the settings that troubleshooting guides name: gradient accumulation, bfloat16, anomaly detection, a start
from a pretrained model. Each is off unless a recipe turns it on, and none of them draws a random number.
What the document behind the recipe leaves open is in docs/decisions/0013-tuned-ppo-open-choices.md.

    $ python -m reprokit.runtime.launch --run-dir out --config config.yaml --seed 42 -- ppo_tuned.py
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

from recipes.parts.flat_adam import FlatAdam
from recipes.parts.moments import Moments
from recipes.parts.pretrained import start_from
from recipes.parts.products import product
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
        normalize_obs: The networks see observations with mean 0 and variance 1, by running statistics.
        normalize_reward: Rewards are divided by the running deviation of the discounted return.
    """

    name: str
    num_envs: Annotated[int, Ge(1)] = 16
    max_episode_steps: Annotated[int, Ge(1)] = 500
    normalize_obs: bool = True
    normalize_reward: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """Actor and critic: two networks of this shape that share nothing.

    Attributes:
        architecture: Fully connected layers.
        hidden_sizes: Their widths.
        activation: After each of them.
        ortho_init: Orthogonal initial weights; PyTorch's own for linear layers where it is off.
        pretrained: A data set of the recipe: ``final_model.pt`` or a checkpoint to start from.
    """

    architecture: Literal["mlp"] = "mlp"
    hidden_sizes: Annotated[tuple[Annotated[int, Ge(1)], ...], MinLen(1)] = (256, 256)
    activation: Literal["tanh", "relu"] = "relu"
    ortho_init: bool = True
    pretrained: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """PPO's settings; those of ``ppo.py`` mean the same here.

    Attributes:
        lr_schedule: ``linear`` falls from ``learning_rate`` to 0 at ``total_timesteps``.
        lr_warmup_steps: Environment steps over which the learning rate rises from 0.
        clip_range_vf: How far a value may move in an update; null for any distance.
        use_sde: State-dependent exploration is for continuous actions; there is none here.
        target_kl: Once a minibatch is 1.5 times as far from the policy that played, the update ends.
        gradient_accumulation_steps: A minibatch is put through the networks in so many parts.
        precision: ``bfloat16`` computes the networks under autocast; parameters stay float32.
        detect_anomaly: A NaN in a backward pass ends the run, and names the operation it came from.
    """

    algorithm: Literal["ppo"] = "ppo"
    total_timesteps: Annotated[int, Gt(0)] = 200_000
    rollout_steps: Annotated[int, Ge(1)] = 256
    batch_size: Annotated[int, Ge(2)] = 512
    n_epochs: Annotated[int, Ge(1)] = 20
    learning_rate: Annotated[float, Gt(0)] = 2.5e-4
    lr_schedule: Literal["constant", "linear"] = "linear"
    lr_warmup_steps: Annotated[int, Ge(0)] = 0
    adam_epsilon: Annotated[float, Gt(0)] = 1e-5
    gamma: Annotated[float, Ge(0), Le(1)] = 0.99
    gae_lambda: Annotated[float, Ge(0), Le(1)] = 0.95
    clip_range: Annotated[float, Gt(0)] = 0.2
    clip_range_vf: Annotated[float, Gt(0)] | None = None
    ent_coef: Annotated[float, Ge(0)] = 0.01
    vf_coef: Annotated[float, Ge(0)] = 0.5
    max_grad_norm: Annotated[float, Gt(0)] = 0.5
    use_sde: Literal[False] = False
    target_kl: Annotated[float, Gt(0)] | None = 0.01
    gradient_accumulation_steps: Annotated[int, Ge(1)] = 1
    precision: Literal["float32", "bfloat16"] = "float32"
    detect_anomaly: bool = False


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

    def normaliser(self, *, on: bool) -> Callable[[np.ndarray], np.ndarray]:
        """How the networks see observations, by the statistics as they stand now; float32 in and out."""
        if not on:
            return lambda observations: observations
        mean = self.observation_moments.mean.numpy(force=True).astype(np.float32)
        scale = self.observation_moments.scale().astype(np.float32)
        return lambda observations: np.clip((observations - mean) * scale, -10, 10)

    def actor(self, normalise: Callable[[np.ndarray], np.ndarray]) -> Callable[[np.ndarray], np.ndarray]:
        """The actor as it stands now, in numpy: for a few rows, PyTorch's calls cost more than its sums."""
        activation = np.tanh if self.activation == "tanh" else lambda x: np.maximum(x, 0)
        layers = [(weight[0].numpy(force=True), bias[0].numpy(force=True)) for weight, bias in self.layers]
        weight, bias = self.policy_weight.numpy(force=True), self.policy_bias.numpy(force=True)

        def logits(observations: np.ndarray) -> np.ndarray:
            hidden = normalise(observations)
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


def uniform(fan_in: int, fan_out: int, *, gain: float) -> Tensor:  # noqa: ARG001 - as orthogonal's
    """A weight, float32 [fan_in, fan_out], as PyTorch draws it for a linear layer."""
    bound = 1 / math.sqrt(fan_in)
    return torch.empty(fan_in, fan_out).uniform_(-bound, bound)


# --- Playing -------------------------------------------------------------------------------------


class Rollout(NamedTuple):
    """What one round of playing gave; numpy arrays [rollout_steps, num_envs, …], as in ``ppo.py``."""

    observations: np.ndarray
    actions: np.ndarray
    rewards: np.ndarray
    done: np.ndarray
    cut_at: np.ndarray
    cut_observations: np.ndarray


class Players:
    """Environments played side by side, each with a generator of its own; as in ``ppo.py``.

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
        self.discounted = np.zeros(len(seeds))
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

    def scaled(
        self, rollout: Rollout, model: ActorCritic, environment: Environment, settings: Training
    ) -> Rollout:
        """The rollout with its rewards over the running deviation of the discounted return."""
        if not environment.normalize_reward:
            return rollout
        returns = np.empty(rollout.rewards.shape)
        for t, (rewards, done) in enumerate(zip(rollout.rewards, rollout.done, strict=True)):
            returns[t] = self.discounted = self.discounted * settings.gamma + rewards
            self.discounted = np.where(done, 0.0, self.discounted)
        model.return_moments.see(returns.reshape(-1))
        scaled = np.clip(rollout.rewards * model.return_moments.scale(), -10, 10)
        return rollout._replace(rewards=scaled.astype(np.float32))

    def record(self) -> dict[str, float]:
        """Means over the last 100 episodes that ended; NaN before the first."""
        scores, lengths = zip(*self.recent, strict=True) if self.recent else ((math.nan,), (math.nan,))
        return {"train/episodic_return": np.mean(scores), "train/episodic_length": np.mean(lengths)}

    def state_dict(self) -> dict[str, Any]:
        return {
            "observations": torch.from_numpy(self.observations),
            "returns": self.returns.tolist(),
            "lengths": self.lengths.tolist(),
            "discounted": self.discounted.tolist(),
            "recent": [list(episode) for episode in self.recent],
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.observations[:] = state["observations"].numpy()
        self.returns[:], self.lengths[:] = state["returns"], state["lengths"]
        self.discounted = np.array(state["discounted"])
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
    """Transitions as the update sees them; tensors [number, …], observations normalised."""

    observations: Tensor
    actions: Tensor
    log_probs: Tensor
    advantages: Tensor
    returns: Tensor
    values: Tensor


@torch.no_grad()
def prepare(
    rollout: Rollout, model: ActorCritic, normalise: Callable[[np.ndarray], np.ndarray], settings: Training
) -> Batch:
    """Log-probabilities, values, advantages and returns of a rollout, under the model that played it."""
    num_steps, num_envs = rollout.rewards.shape
    device = model.policy_bias.device
    rows = np.concatenate(
        [rollout.observations.reshape(-1, *rollout.cut_observations.shape[1:]), rollout.cut_observations]
    )
    observations = torch.from_numpy(normalise(rows)).to(device)
    logits, values = model(observations)
    num_played = num_steps * num_envs
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
    """Generalised advantage estimates, float32 [rollout_steps, num_envs]."""
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


def parts_of(minibatch: Batch, number: int) -> Iterator[Batch]:
    """A minibatch in so many equal parts."""
    yield from map(Batch._make, zip(*(column.chunk(number) for column in minibatch), strict=True))


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
    distance = (ratio - 1 - log_ratio).mean()  # http://joschu.net/blog/kl-approx.html
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
            with torch.autograd.set_detect_anomaly(settings.detect_anomaly):
                for part in parts_of(minibatch, number):
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


def learning_rate_at(step: int, rollout: int, settings: Training) -> float:
    """The learning rate of the update whose rollout of so many steps begins at ``step``."""
    rising = min(1.0, (step + rollout) / settings.lr_warmup_steps) if settings.lr_warmup_steps else 1.0
    falling = max(0.0, 1 - step / settings.total_timesteps) if settings.lr_schedule == "linear" else 1.0
    return settings.learning_rate * rising * falling


# --- Training ------------------------------------------------------------------------------------


def train(config: Config, run: Run) -> None:
    """Train an agent and write its records.

    Args:
        config: The recipe's settings.
        run: Seeds, device, and where the records go.
    """
    environment, settings, logging = config.environment, config.training, config.logging
    must_divide(environment.num_envs, settings)
    run.seeding.seed_everything()
    spec = gymnasium.spec(environment.name)
    spec = replace(spec, max_episode_steps=environment.max_episode_steps)
    players = Players(spec, run.seeding.environment_seeds(environment.num_envs))
    with run.seeding.initialising():
        model = ActorCritic(players.observations.shape[1], players.num_actions, config.model).to(run.device)
    if config.model.pretrained is not None:
        start_from(model, run.data[config.model.pretrained])
    adam = FlatAdam(model, epsilon=settings.adam_epsilon)
    step = resume(run, model=model, adam=adam, players=players)

    while step < settings.total_timesteps:
        learning_rate = learning_rate_at(step, environment.num_envs * settings.rollout_steps, settings)
        normalise = model.normaliser(on=environment.normalize_obs)
        rollout = players.play(model.actor(normalise), settings.rollout_steps)
        before, step = step, step + rollout.rewards.size
        batch = prepare(players.scaled(rollout, model, environment, settings), model, normalise, settings)
        record = update(model, adam, batch, settings, learning_rate=learning_rate)
        record |= measure(model, batch, settings) | players.record()
        record |= {"optim/learning_rate": learning_rate}
        # What was played counts from the next rollout on: so the policy that learns is the one that played.
        model.observation_moments.see(rollout.observations[:-1].reshape(-1, players.observations.shape[1]))
        run.trace.update(
            step=step,
            parameters=model.state_dict(),
            gradients={name: one.grad for name, one in model.named_parameters() if one.grad is not None},
            optimizer=adam.state_dict(),
            environments=players.envs,
        )
        actor = model.actor(model.normaliser(on=environment.normalize_obs))
        if is_due(logging.eval_interval, before, step):
            seed = run.seeding.derive("evaluation", step // logging.eval_interval)
            returns = evaluate(spec, actor, num_episodes=logging.eval_episodes, seed=seed)
            record |= {"eval/return_mean": returns.mean(), "eval/return_std": returns.std()}
        if step >= settings.total_timesteps:
            seed = run.seeding.derive("final_evaluation")
            returns = evaluate(spec, actor, num_episodes=logging.final_eval_episodes, seed=seed)
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


def must_divide(num_envs: int, settings: Training) -> None:
    """Refuse a rollout that is no whole number of minibatches, or a minibatch of no whole parts."""
    if num_envs * settings.rollout_steps % settings.batch_size:
        raise ValueError(f"batch_size {settings.batch_size} does not divide {num_envs} × rollout_steps")
    if settings.batch_size % settings.gradient_accumulation_steps:
        raise ValueError(f"gradient_accumulation_steps does not divide batch_size {settings.batch_size}")


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


def final_record(returns: np.ndarray, success_return: float) -> dict[str, float]:
    """What the final evaluation came to."""
    return {
        "final/return_mean": returns.mean(),
        "final/return_std": returns.std(),
        "final/return_min": returns.min(),
        "final/return_max": returns.max(),
        "final/success_rate": (returns >= success_return).mean(),
    }
