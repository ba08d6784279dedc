"""Replay buffers: the last transitions that were played, to learn from.

    >>> sampler = sampler_of("uniform", 10_000, seeding.numpy_generator("replay"))
    >>> buffer = ReplayBuffer(10_000, observation_size=4, sampler=sampler)
    >>> buffer.add(observation, action=1, reward=1.0, next_observation=following, terminated=False)
    >>> batch = buffer.sample(64)

The generator is the caller's, who seeds it, traces it and saves it with the others (``random_state``);
``state_dict`` holds everything else. Two buffers with equal contents and generators in the same state
draw the same, whatever happened before.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from recipes.parts.replay_sampling import Sampler


class Batch(NamedTuple):
    """Transitions, numpy arrays [count, …]; ``weights`` is None where every error counts alike."""

    places: NDArray[np.int64]
    weights: NDArray[np.float32] | None
    observations: NDArray[np.float32]
    actions: NDArray[np.int64]
    rewards: NDArray[np.float32]
    next_observations: NDArray[np.float32]
    terminated: NDArray[np.bool_]

    def parts(self, number: int) -> Iterator[Batch]:
        """The same in so many equal parts, in order; ``number`` divides the count."""
        if number == 1:
            yield self
            return
        size = len(self.actions) // number
        for part in (slice(start, start + size) for start in range(0, len(self.actions), size)):
            yield Batch(
                places=self.places[part],
                weights=None if self.weights is None else self.weights[part],
                observations=self.observations[part],
                actions=self.actions[part],
                rewards=self.rewards[part],
                next_observations=self.next_observations[part],
                terminated=self.terminated[part],
            )


class ReplayBuffer:
    """The last ``capacity`` transitions.

    Args:
        capacity: How many are kept.
        observation_size: Length of an observation.
        sampler: The rule of drawing, made for the same capacity.
    """

    def __init__(self, capacity: int, *, observation_size: int, sampler: Sampler) -> None:
        self.capacity, self.sampler = capacity, sampler
        self.num_added = 0
        self._observations = np.zeros((capacity, observation_size), dtype=np.float32)
        self._next_observations = np.zeros_like(self._observations)
        self._actions = np.zeros(capacity, dtype=np.int64)
        self._rewards = np.zeros(capacity, dtype=np.float32)
        self._terminated = np.zeros(capacity, dtype=bool)

    def __len__(self) -> int:
        return min(self.num_added, self.capacity)

    def add(
        self,
        observation: NDArray[np.float32],
        *,
        action: int,
        reward: float,
        next_observation: NDArray[np.float32],
        terminated: bool,
    ) -> None:
        """Keep one transition.

        Args:
            observation: What was seen, float32 [observation_size].
            action: What was done.
            reward: What it brought.
            next_observation: What was seen next; of an episode that ended, its true last observation.
            terminated: Whether nothing follows; False for an episode that was only cut off.
        """
        place = self.num_added % self.capacity
        self._observations[place], self._next_observations[place] = observation, next_observation
        self._actions[place], self._rewards[place], self._terminated[place] = action, reward, terminated
        self.num_added += 1
        self.sampler.added(place)

    def sample(self, count: int) -> Batch:
        """So many transitions, drawn one independently of another (prioritised: one from each stratum).

        Raises:
            ValueError: There is none yet.
        """
        if not self.num_added:
            raise ValueError("the replay buffer is empty")
        places, weights = self.sampler.draw(count)
        return Batch(
            places=places,
            weights=weights,
            observations=self._observations[places],
            actions=self._actions[places],
            rewards=self._rewards[places],
            next_observations=self._next_observations[places],
            terminated=self._terminated[places],
        )

    def state_dict(self) -> dict[str, Any]:
        """What is stored, and what the sampler knows of it."""
        contents = {
            name: torch.from_numpy(column[: len(self)].copy()) for name, column in self._columns().items()
        }
        return {"num_added": self.num_added, "contents": contents, "sampler": self.sampler.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take that over, into a buffer of the same capacity.

        Raises:
            ValueError: It is of a buffer of another size.
        """
        size = min(state["num_added"], self.capacity)
        for name, column in self._columns().items():
            stored = state["contents"][name].numpy()
            if stored.shape != (size, *column.shape[1:]):
                raise ValueError(f"replay {name}: {stored.shape}, not {(size, *column.shape[1:])}")
            column[:size] = stored
        self.num_added = int(state["num_added"])
        self.sampler.load_state_dict(state["sampler"])

    def _columns(self) -> dict[str, NDArray[Any]]:
        return {
            "observations": self._observations,
            "next_observations": self._next_observations,
            "actions": self._actions,
            "rewards": self._rewards,
            "terminated": self._terminated,
        }
