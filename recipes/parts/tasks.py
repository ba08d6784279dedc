"""What is played: several tasks in one training, or one task in levels that grow harder.

>>> tasks = tasks_of(["CartPole-v1", "Acrobot-v1"], levels=read_levels(None))
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.envs.registration import EnvSpec

from recipes.parts.playing import Players


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """One level of a task.

    Attributes:
        max_episode_steps: An episode is cut off after so many steps; infinite for the task's own limit.
        reset: What every reset is told (gymnasium's ``options``), or None.
        pass_return: The mean return that ends the level; infinite for the last.
    """

    max_episode_steps: float = math.inf
    reset: dict[str, Any] | None = None
    pass_return: float = math.inf


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One task: its environment, how long its observations are, how many actions it has."""

    spec: EnvSpec
    width: int
    num_actions: int


def read_levels(file: Path | None) -> tuple[Level, ...]:
    """The levels in a file, first to last; a single one without demands where there is no file."""
    if file is None:
        return (Level(),)
    return tuple(Level(**level) for level in json.loads(file.read_text(encoding="utf-8")))


def tasks_of(names: Sequence[str], *, num_envs: int, levels: Sequence[Level]) -> list[Task]:
    """Gymnasium environments, looked at; their limit on steps is that of the last level, if it has one.

    Raises:
        ValueError: There are not as many environments of each, or levels for several tasks.
        TypeError: One has other than flat observations and discrete actions.
    """
    if len(set(names)) < len(names) or num_envs % len(names):
        raise ValueError(f"num_envs {num_envs} is not as many of each of {', '.join(names)}")
    if tuple(levels) != (Level(),) and len(names) > 1:
        raise ValueError("a curriculum is for a single task")
    limit, found = levels[-1].max_episode_steps, []
    for name in names:
        spec = gymnasium.spec(name)
        own = spec.max_episode_steps or 1000
        spec = replace(spec, max_episode_steps=own if math.isinf(limit) else int(limit))
        env = gymnasium.make(spec)
        observations, actions = env.observation_space, env.action_space
        if not isinstance(actions, gymnasium.spaces.Discrete) or len(observations.shape or ()) != 1:
            raise TypeError(f"{name} needs flat observations and discrete actions, not {actions}")
        width: int = observations.shape[0]  # type: ignore[index]  # flat, as was just asked
        found.append(Task(spec=spec, width=width, num_actions=int(actions.n)))
        env.close()
    return found


class Curriculum:
    """Which level is played: the next one, once the last hundred episodes returned enough.

    Args:
        levels: All of them.
        start: The level to begin with, counted from 1.

    Raises:
        ValueError: There are not so many.
    """

    def __init__(self, levels: Sequence[Level], *, start: int) -> None:
        if start > len(levels):
            raise ValueError(f"curriculum_start_level {start} of {len(levels)}")
        self.levels, self.number = levels, start

    def told(self) -> dict[str, Any]:
        """What the players of the present level are told."""
        level = self.levels[self.number - 1]
        return {"reset_options": level.reset, "limit": level.max_episode_steps}

    def climb(self, players: Players) -> None:
        """Go on to the next level where it is time; its resets and limit count from the next step on."""
        returns = [score for score, _ in players.recent[0]]
        if len(returns) == 100 and np.mean(returns) >= self.levels[self.number - 1].pass_return:
            self.number += 1
            players.recent[0].clear()
            players.tell(**self.told())

    def state_dict(self) -> dict[str, Any]:
        """The level that is played."""
        return {"number": self.number}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take that over."""
        self.number = state["number"]
