"""Plays environments side by side: single steps, or whole rollouts by a policy that draws its actions.

    >>> players = Players([spec] * 8, seeding.environment_seeds(8))
    >>> rollout = players.play(model.actor(), 512)

Random numbers come from each environment's own generator and, in a rollout, from torch's global one.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import gymnasium
import numpy as np
import torch
from gymnasium.envs.registration import EnvSpec
from numpy.typing import NDArray

Actor = Callable[[NDArray[np.float32]], NDArray[np.float32]]


# What one step of one environment brought: observation (of the same episode), reward, terminated, truncated.
Step = tuple[Any, float, bool, bool]


class Rollout(NamedTuple):
    """What one round of playing gave; arrays [rollout_steps, num_envs, …].

    Attributes:
        observations: float32; one row more than steps: the last is where the next round starts.
        actions: What was done there, int64.
        rewards: What it brought, float32.
        done: Whether it ended the episode, by a terminal state or by the limit on steps.
        cut_at: Step and environment of every episode that was only cut off, int64 [cuts, 2].
        cut_observations: What would have been seen next there, float32 [cuts, width].
    """

    observations: NDArray[np.float32]
    actions: NDArray[np.int64]
    rewards: NDArray[np.float32]
    done: NDArray[np.bool_]
    cut_at: NDArray[np.int64]
    cut_observations: NDArray[np.float32]


def spec_of(name: str, *, max_episode_steps: int, own: Sequence[EnvSpec] = ()) -> EnvSpec:
    """An environment of gymnasium's registry, or of ``own``, by its name, with another limit on steps."""
    known = {spec.id: spec for spec in own}.get(name) or gymnasium.spec(name)
    return replace(known, max_episode_steps=max_episode_steps)


class Players:
    """Environments played side by side, each with a generator of its own.

    An episode that ends is started anew in the same step, so that no transition leads from one episode
    into the next; its true last observation is kept, because a truncated episode has a future.

    Args:
        specs: What to play, one for each environment.
        seeds: Likewise.
        task_of: The number of each environment's task, int64 [num_envs]; all are one task when left out.
        reset_options: What every reset is told.
        limit: An episode is cut off after so many steps, beside its environment's own limit.

    Raises:
        TypeError: An environment has no discrete actions.
    """

    def __init__(
        self,
        specs: Sequence[EnvSpec],
        seeds: Sequence[int],
        *,
        task_of: NDArray[np.int64] | None = None,
        reset_options: dict[str, Any] | None = None,
        limit: float = math.inf,
    ) -> None:
        self.tell(reset_options=reset_options, limit=limit)
        self.envs = [gymnasium.make(spec, disable_env_checker=True) for spec in specs]
        self.num_actions = max(_number_of_actions(env) for env in self.envs)
        pairs = zip(self.envs, seeds, strict=True)
        starts = [env.reset(seed=seed, options=reset_options)[0] for env, seed in pairs]
        # What is seen now, float32 [num_envs, width]; zeros follow where another task's are longer.
        self.observations = np.zeros((len(starts), max(map(len, starts))), dtype=np.float32)
        self._rows = [row[: len(start)] for row, start in zip(self.observations, starts, strict=True)]
        for row, start in zip(self._rows, starts, strict=True):
            row[:] = start
        self.task_of = np.zeros(len(starts), dtype=np.int64) if task_of is None else task_of
        # Return and length of the episodes in progress, and of the last hundred of each task.
        self.returns, self.lengths = [0.0] * len(starts), [0] * len(starts)
        self.recent: list[deque[tuple[float, int]]] = [deque(maxlen=100) for _ in {*self.task_of.tolist()}]

    def tell(self, *, reset_options: dict[str, Any] | None, limit: float) -> None:
        """From now on play with another limit, and with resets that are told something else."""
        self.reset_options, self.limit = reset_options, limit

    def step(self, actions: Sequence[int]) -> list[Step]:
        """One step in every environment."""
        steps, returns, lengths = [], self.returns, self.lengths
        for i, (env, row, action) in enumerate(zip(self.envs, self._rows, actions, strict=True)):
            observation, given, terminated, truncated, _ = env.step(action)
            reward = float(given)
            returns[i] += reward
            lengths[i] += 1
            truncated = truncated or lengths[i] >= self.limit
            steps.append((observation, reward, terminated, truncated))
            if terminated or truncated:
                self.recent[self.task_of[i]].append((returns[i], lengths[i]))
                returns[i], lengths[i] = 0.0, 0
                observation, _ = env.reset(options=self.reset_options)
            row[:] = observation
        return steps

    def play(self, actor: Actor, num_steps: int) -> Rollout:
        """Play so many steps in every environment, with actions drawn from the actor's distribution.

        Args:
            actor: From observations [num_envs, width] to logits [num_envs, num_actions].
            num_steps: In every environment.
        """
        shape = (num_steps, len(self.envs))
        observations = np.empty((num_steps + 1, *self.observations.shape), dtype=np.float32)
        actions, rewards = np.empty(shape, dtype=np.int64), np.empty(shape, dtype=np.float32)
        done = np.zeros(shape, dtype=bool)
        cut: list[tuple[tuple[int, int], Any]] = []
        # Gumbel noise: the largest of logits + noise is a draw from softmax(logits).
        noise = -torch.rand(*shape, self.num_actions).log().neg().log().numpy()
        for t in range(num_steps):
            observations[t] = self.observations
            actions[t] = (actor(self.observations) + noise[t]).argmax(axis=1)
            steps = self.step(actions[t].tolist())
            for i, (observation, rewards[t, i], terminated, truncated) in enumerate(steps):
                if terminated or truncated:
                    done[t, i] = True
                    if not terminated:
                        cut.append(((t, i), observation))
        observations[num_steps] = self.observations
        cut_observations = np.zeros((len(cut), self.observations.shape[1]), dtype=np.float32)
        for row, (_, observation) in zip(cut_observations, cut, strict=True):
            row[: len(observation)] = observation
        cut_at = np.array([at for at, _ in cut], dtype=np.int64).reshape(-1, 2)
        return Rollout(observations, actions, rewards, done, cut_at, cut_observations)

    def record(self) -> dict[str, float]:
        """Means over the last 100 episodes of all tasks that ended; NaN before the first."""
        episodes = [episode for recent in self.recent for episode in recent]
        scores, lengths = zip(*episodes, strict=True) if episodes else ((math.nan,), (math.nan,))
        return {
            "train/episodic_return": float(np.mean(scores)),
            "train/episodic_length": float(np.mean(lengths)),
        }

    def state_dict(self) -> dict[str, Any]:
        """What is neither the environments' nor a setting."""
        return {
            "observations": torch.from_numpy(self.observations),
            "returns": list(self.returns),
            "lengths": list(self.lengths),
            "recent": [[list(episode) for episode in recent] for recent in self.recent],
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take that over, into players of the same tasks."""
        self.observations[:] = state["observations"].numpy()
        self.returns, self.lengths = list(state["returns"]), list(state["lengths"])
        for recent, saved in zip(self.recent, state["recent"], strict=True):
            recent.extend((score, length) for score, length in saved)


def _number_of_actions(env: gymnasium.Env[Any, Any]) -> int:
    if not isinstance(actions := env.action_space, gymnasium.spaces.Discrete):
        raise TypeError(f"{env.spec.id if env.spec else env} has no discrete actions but {actions}")
    return int(actions.n)
