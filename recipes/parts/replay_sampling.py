"""Which transitions of a replay buffer to learn from: uniform, balanced over time, or prioritised.

>>> sampler = sampler_of("prioritised", 10_000, seeding.numpy_generator("replay"))
>>> sampler.added(0)
>>> places, weights = sampler.draw(64)
"""

from __future__ import annotations

from typing import Any, Literal, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from recipes.parts.sum_tree import SumTree

Kind = Literal["uniform", "time_balanced", "time_balanced_naive", "prioritised"]

_SMALLEST_ERROR = 1e-6  # a transition that is predicted exactly may still be drawn


class Sampler(Protocol):
    """A rule of drawing. Entries are known by their place in the buffer, 0 ≤ place < capacity."""

    def added(self, place: int) -> None:
        """A transition was written there, over the oldest one once the buffer is full."""

    def draw(self, count: int) -> tuple[NDArray[np.int64], NDArray[np.float32] | None]:
        """Places, int64 [count], and the weights of their errors, float32 [count] or None for all 1."""

    def learned(self, places: NDArray[np.int64], errors: NDArray[np.float32]) -> None:
        """How far off the transitions were when they were learned from, float32 [count]."""

    def probabilities(self) -> NDArray[np.float64]:
        """The chance of each entry to be one draw, float64 [size]; for tests and diagnostics."""

    def state_dict(self) -> dict[str, Any]:
        """What it knows beside its generator: numbers and tensors."""

    def load_state_dict(self, state: dict[str, Any], /) -> None:
        """Take that over."""


def sampler_of(
    kind: Kind,
    capacity: int,
    generator: np.random.Generator,
    *,
    priority_exponent: float = 0.6,
    importance_exponent: float = 0.4,
) -> Sampler:
    """The rule of drawing of that name.

    Args:
        kind: Which.
        capacity: Of the buffer that it draws from.
        generator: Its own.
        priority_exponent: Of ``prioritised``: 0 draws uniformly, 1 in proportion to the errors.
        importance_exponent: Of ``prioritised``: 0 corrects nothing, 1 all of the uneven chances.
    """
    if kind == "uniform":
        return Uniform(capacity, generator)
    if kind == "time_balanced":
        return TimeBalanced(capacity, generator)
    if kind == "time_balanced_naive":
        return TimeBalancedNaive(capacity, generator)
    return Prioritised(
        capacity,
        generator,
        priority_exponent=priority_exponent,
        importance_exponent=importance_exponent,
    )


class Uniform:
    """Every entry alike (https://doi.org/10.1038/nature14236)."""

    def __init__(self, capacity: int, generator: np.random.Generator) -> None:
        self.capacity, self.generator = capacity, generator
        self.num_added = 0

    def added(self, place: int) -> None:  # noqa: ARG002 - the protocol's
        self.num_added += 1

    @property
    def size(self) -> int:
        return min(self.num_added, self.capacity)

    def draw(self, count: int) -> tuple[NDArray[np.int64], NDArray[np.float32] | None]:
        return self.generator.integers(self.size, size=count), None

    def learned(self, places: NDArray[np.int64], errors: NDArray[np.float32]) -> None:
        """Nothing: every entry stays as likely as it is."""

    def probabilities(self) -> NDArray[np.float64]:
        return np.full(self.size, 1 / self.size)

    def state_dict(self) -> dict[str, Any]:
        return {"num_added": self.num_added}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.num_added = int(state["num_added"])


class TimeBalanced(Uniform):
    """Entries that uniform drawing would have favoured so far are drawn less.

    Under uniform drawing an entry that has been there for longer has had more chances: with one draw for
    each transition that is added, it has been drawn 1/size times in expectation at each of them. Call
    that its exposure. A uniform place in the buffer, oldest entry first, is sent through the
    distribution function of the exposure: what moves it towards the newer entries is exactly what the
    older ones had too much of (the idea of https://arxiv.org/abs/2310.05167, section on efficient
    time-balanced sampling; there for a buffer that only grows, here also once it is full).

    The exposures are harmonic numbers, and so are their running sums: a draw costs the same however
    large the buffer is. ``TimeBalancedNaive`` keeps the books instead, and draws the same.
    """

    def __init__(self, capacity: int, generator: np.random.Generator) -> None:
        super().__init__(capacity, generator)
        # Chances of an entry that was there from the 1st to the m-th addition, and their running sum.
        self._chances = np.concatenate(([0.0], np.cumsum(1 / np.arange(1, capacity + 1))))
        self._sums = np.cumsum(self._chances)

    def draw(self, count: int) -> tuple[NDArray[np.int64], NDArray[np.float32] | None]:
        where = self.generator.random(count) * self.size
        whole = np.floor(where)
        below, above = self._exposure_of_oldest(whole), self._exposure_of_oldest(whole + 1)
        shares = (below + (where - whole) * (above - below)) / self._exposure_of_oldest(np.array([self.size]))
        return self._places(shares), None

    def probabilities(self) -> NDArray[np.float64]:
        shares = self._exposure_of_oldest(np.arange(self.size + 1))
        return self._in_places(_chances_between(shares / shares[-1]))

    def _places(self, shares: NDArray[np.float64]) -> NDArray[np.int64]:
        """Shares of the buffer, from 0 to 1 and oldest first, as places."""
        age: NDArray[np.int64] = np.minimum((shares * self.size).astype(np.int64), self.size - 1)
        return (age + self._oldest) % self.size

    def _in_places(self, chances: NDArray[np.float64]) -> NDArray[np.float64]:
        rolled: NDArray[np.float64] = np.roll(chances, self._oldest)
        return rolled

    @property
    def _oldest(self) -> int:
        return self.num_added % self.capacity if self.num_added > self.capacity else 0

    def _exposure_of_oldest(self, number: NDArray[Any]) -> NDArray[np.float64]:
        """Exposure of the so many oldest entries together, float64 [n]."""
        before = self.num_added - self.size  # additions before that of the oldest entry
        now = self._chances_until(self.num_added)
        return number * now - (self._sum_until(before + number - 1) - self._sum_until(before - 1))

    def _chances_until(self, additions: int) -> float:
        beyond = max(additions - self.capacity, 0)
        return float(self._chances[min(additions, self.capacity)]) + beyond / self.capacity

    def _sum_until(self, additions: Any) -> NDArray[np.float64]:
        """Sum of ``_chances_until`` from 0 to so many additions; 0 for -1."""
        growing = np.clip(additions, 0, self.capacity).astype(np.int64)
        full = np.maximum(additions - self.capacity, 0)
        rest = full * self._chances[-1] + full * (full + 1) / (2 * self.capacity)
        sums: NDArray[np.float64] = self._sums[growing] + rest
        return sums


class TimeBalancedNaive(TimeBalanced):
    """The same distribution by keeping every entry's exposure: each addition touches every entry."""

    def __init__(self, capacity: int, generator: np.random.Generator) -> None:
        super().__init__(capacity, generator)
        self._exposure = np.zeros(capacity)

    def added(self, place: int) -> None:
        super().added(place)
        self._exposure[place] = 0.0
        self._exposure[: self.size] += 1 / self.size

    def _exposure_of_oldest(self, number: NDArray[Any]) -> NDArray[np.float64]:
        oldest_first = np.roll(self._exposure[: self.size], -self._oldest)
        sums: NDArray[np.float64] = np.concatenate(([0.0], np.cumsum(oldest_first)))
        shares: NDArray[np.float64] = sums[np.minimum(number, self.size).astype(np.int64)]
        return shares

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "exposure": torch.from_numpy(self._exposure[: self.size].copy())}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self._exposure[: self.size] = state["exposure"].numpy()


class Prioritised(Uniform):
    """Entries with large errors more often (https://arxiv.org/abs/1511.05952, proportional variant).

    A batch takes one draw from each of as many equal parts of the sum of all priorities. A new entry gets
    the highest priority seen so far, so that it is learned from soon.
    """

    def __init__(
        self,
        capacity: int,
        generator: np.random.Generator,
        *,
        priority_exponent: float,
        importance_exponent: float,
    ) -> None:
        super().__init__(capacity, generator)
        self.priority_exponent, self.importance_exponent = priority_exponent, importance_exponent
        self._tree, self._highest = SumTree(capacity), 1.0

    def added(self, place: int) -> None:
        super().added(place)
        self._tree.set(np.array([place]), np.array([self._highest]))

    def draw(self, count: int) -> tuple[NDArray[np.int64], NDArray[np.float32] | None]:
        parts = (np.arange(count) + self.generator.random(count)) / count
        places = self._tree.find(parts * self._tree.total)
        chances = self._tree.weights_of(places) / self._tree.total
        weights = (self.size * chances) ** -self.importance_exponent
        return places, (weights / weights.max()).astype(np.float32)

    def learned(self, places: NDArray[np.int64], errors: NDArray[np.float32]) -> None:
        priorities = (np.abs(errors.astype(np.float64)) + _SMALLEST_ERROR) ** self.priority_exponent
        self._tree.set(places, priorities)
        self._highest = max(self._highest, float(priorities.max()))

    def probabilities(self) -> NDArray[np.float64]:
        return self._tree.leaves[: self.size] / self._tree.total

    def state_dict(self) -> dict[str, Any]:
        priorities = torch.from_numpy(self._tree.leaves[: self.size])
        return {**super().state_dict(), "priorities": priorities, "highest": self._highest}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self._tree.set(np.arange(self.size), state["priorities"].numpy())
        self._highest = float(state["highest"])


def _chances_between(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Chance of each entry when a uniform place is sent through ``shares``, float64 [size].

    ``shares`` are the distribution function at 0, 1, … size entries; its inverse at the entries' own
    borders says which part of the uniform places ends up in each.
    """
    size = len(shares) - 1
    borders = np.interp(np.arange(size + 1) / size, shares, np.arange(size + 1) / size)
    return np.diff(borders)
