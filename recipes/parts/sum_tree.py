"""A binary tree of sums: draws an entry with a chance proportional to its weight, in O(log n).

    >>> tree = SumTree(3)
    >>> tree.set(np.array([0, 1, 2]), np.array([1.0, 0.0, 3.0]))
    >>> tree.find(np.array([0.5, 1.0, 3.9])).tolist()
    [0, 2, 2]

The caller provides the random numbers. A sum is always computed from its two parts, never adjusted, so it
depends on the leaves alone and not on the order in which they changed: a tree restored from its leaves
goes on bit for bit.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


class SumTree:
    """Weights, float64 [capacity], all 0 at first, and their sums.

    Args:
        capacity: How many leaves, 1 or more.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._depth = max(capacity - 1, 1).bit_length()
        self._first = 1 << self._depth
        self._nodes = np.zeros(2 * self._first)

    @property
    def total(self) -> float:
        """The sum of all weights."""
        return float(self._nodes[1])

    @property
    def leaves(self) -> NDArray[np.float64]:
        """A copy of the weights, float64 [capacity]."""
        return self._nodes[self._first : self._first + self.capacity].copy()

    def weights_of(self, indices: NDArray[np.int64]) -> NDArray[np.float64]:
        """The weights of some leaves, float64 [n]."""
        return self._nodes[indices + self._first]

    def set(self, indices: NDArray[np.int64], weights: NDArray[np.float64]) -> None:
        """Change some leaves; of an index that is there twice, the last weight counts.

        Args:
            indices: int64 [n], within the capacity.
            weights: float64 [n], finite, not negative.
        """
        nodes = indices + self._first
        self._nodes[nodes] = weights
        for _ in range(self._depth):
            nodes = nodes >> 1
            self._nodes[nodes] = self._nodes[2 * nodes] + self._nodes[2 * nodes + 1]

    def find(self, targets: NDArray[np.float64]) -> NDArray[np.int64]:
        """For each target the first leaf at which the running sum exceeds it, int64 [n].

        Args:
            targets: float64 [n], from 0 to below ``total``.
        """
        nodes, rest = np.ones(len(targets), dtype=np.int64), targets.astype(np.float64)
        for _ in range(self._depth):
            nodes *= 2
            left = self._nodes[nodes]
            # Rounding may leave a target at the very end of a subtree: an empty one is never entered.
            right = (rest >= left) & (self._nodes[nodes + 1] > 0)
            rest -= np.where(right, left, 0.0)
            nodes += right
        return nodes - self._first
