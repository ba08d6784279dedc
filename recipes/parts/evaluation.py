"""Evaluates a policy apart from its training: greedily, in environments made for that call alone.

    >>> returns = evaluate(spec, model.actor(), num_episodes=100, seed=seeding.derive("evaluation", 3))

No generator of the training is drawn from.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
from gymnasium.envs.registration import EnvSpec
from numpy.typing import NDArray


def evaluate(
    spec: EnvSpec,
    scores: Callable[[NDArray[Any]], NDArray[Any]],
    *,
    num_episodes: int,
    seed: int,
    reset_options: dict[str, Any] | None = None,
) -> NDArray[np.float64]:
    """Returns of greedy episodes, float64 [num_episodes].

    Args:
        spec: What to play.
        scores: From observations [num_episodes, …] to a score of every action: the highest is done.
        num_episodes: One in each of as many environments.
        seed: Of all of them.
        reset_options: What their resets are told.
    """
    envs = gymnasium.make_vec(spec, num_envs=num_episodes)
    observations, _ = envs.reset(seed=seed, options=reset_options)
    returns, playing = np.zeros(num_episodes), np.ones(num_episodes, dtype=bool)
    while playing.any():  # one episode each: an environment that is done plays on, and no longer counts
        observations, rewards, terminated, truncated, _ = envs.step(scores(observations).argmax(axis=1))
        returns += np.where(playing, rewards, 0.0)
        playing &= ~(terminated | truncated)
    envs.close()
    return returns


def final_record(returns: NDArray[np.float64], success_return: float) -> dict[str, float]:
    """What the final evaluation came to; an episode is a success from ``success_return`` on."""
    return {
        "final/return_mean": returns.mean(),
        "final/return_std": returns.std(),
        "final/return_min": returns.min(),
        "final/return_max": returns.max(),
        "final/success_rate": (returns >= success_return).mean(),
    }
