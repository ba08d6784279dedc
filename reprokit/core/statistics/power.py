"""Which drop the permutation test would find, simulated from the reference ensemble.

Both groups are drawn with replacement from the reference, so that the error of its own mean counts too, and
spread by ``sqrt(n / (n - 1))``, which makes their variance that of the sample. The new group is then lowered.
The p-value of one draw falls as the drop grows, so each draw has one smallest drop that is found, and one
simulation gives the power at every margin.

Only a drop that all new seeds share is simulated: a change that makes one seed in five fail is another one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from reprokit.core.statistics import permutation
from reprokit.core.statistics.permutation import Values

_EXPECTED_BEYOND = 20  # splits that may be as extreme: enough for the level to be met closely
MOST_NEW = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class VisibleDrops:
    """The smallest drop that is found in each simulated gate, ascending; infinite where none is."""

    drops: Values

    def power(self, drop: float) -> float:
        """Share of the simulated gates in which a drop of this size is found."""
        return float(np.mean(self.drops < drop * (1 - 1e-9)))

    def smallest(self, power: float) -> float | None:
        """The drop that is found with this power; None where no drop is."""
        found = float(self.drops[math.ceil(power * len(self.drops)) - 1])
        return found if math.isfinite(found) else None


def visible_drops(
    reference: Values, num_new: int, *, level: float, draws: int, generator: np.random.Generator
) -> VisibleDrops:
    """Simulate gates with ``num_new`` new seeds.

    Args:
        reference: Shape (n,), at least two, finite, higher is better.
        num_new: New seeds of each gate.
        level: Of the two-sided test.
        draws: How many gates.
        generator: Draws both groups and, where there are many, the splits.
    """
    count = len(reference)
    num_drawn = math.ceil(2 * _EXPECTED_BEYOND / level)
    among = permutation.splits(count, num_new, generator=generator, max_splits=num_drawn, num_drawn=num_drawn)
    allowed = among.most_as_extreme(level) + (1 if among.exact else 0)  # the observed one is among all
    if among.most_as_extreme(level) < 0:
        return VisibleDrops(drops=np.full(draws, np.inf))
    centre = reference.mean()
    population = (reference - centre) * math.sqrt(count / (count - 1))
    pooled = population[generator.integers(0, count, size=(draws, count + num_new))]
    sums = among.chosen @ pooled.T
    observed = pooled[:, count:].sum(axis=1)
    moved = num_new - among.chosen[:, count:].sum(axis=1)  # new values that a split puts into the reference
    with np.errstate(divide="ignore", invalid="ignore"):
        # Up to this drop, a split is as extreme as the observed one.
        until = (observed - sums) / moved[:, None]
    until[moved == 0] = np.inf
    at = len(until) - 1 - allowed
    drops = np.partition(until, at, axis=0)[at]
    return VisibleDrops(drops=np.sort(np.maximum(drops, 0.0)))


def seeds_for_power(
    reference: Values,
    *,
    margin: float,
    level: float,
    power: float,
    draws: int,
    generator: np.random.Generator,
) -> int | None:
    """The fewest new seeds with which a drop of the margin is found; None above ``MOST_NEW``.

    More new seeds cannot make up for a reference of few seeds: its own error stays.
    """

    def suffices(num_new: int) -> bool:
        found = visible_drops(reference, num_new, level=level, draws=draws, generator=generator)
        return found.power(margin) >= power

    if not suffices(MOST_NEW):
        return None
    too_few, enough = 0, MOST_NEW
    while enough - too_few > 1:
        middle = (too_few + enough) // 2
        too_few, enough = (too_few, middle) if suffices(middle) else (middle, enough)
    return enough
