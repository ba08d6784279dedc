"""Settings ranked by one metric, each compared with the best, seed by seed.

The best one was chosen by the same numbers, so the p-values are corrected for all pairs of settings that
could have been compared with each other, not only for those with the best.

    >>> found = rank([{1: 1.0, 2: 2.0, 3: 3.5}, {1: 2.0, 2: 3.0, 3: 4.0}], higher_is_better=True)
    >>> found.order, found.differences[0].mean
    ((1, 0), -0.8333333333333334)
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.special

from reprokit.core.statistics.intervals import t_limits

_FEWEST = 2
_ROUNDING = 1e-12  # of the largest value: means that differ by less differ by their sums' rounding only


@dataclass(frozen=True, slots=True, kw_only=True)
class Paired:
    """A setting's values minus those of the best one with the same seeds.

    Attributes:
        seeds: Those that both have.
        mean: Of the differences.
        low: Of their 95 % t-interval, as ``high``; None where all are one value.
        p_value: Of a paired two-sided t-test, which takes the differences to be normal.
        corrected: The same by Holm's method, for all pairs of settings.
        refused: Why there is no difference; "" where there is one.
    """

    seeds: tuple[int, ...] = ()
    mean: float | None = None
    low: float | None = None
    high: float | None = None
    p_value: float | None = None
    corrected: float | None = None
    refused: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """Settings by their means, best first.

    Attributes:
        order: Places of the settings that have a mean.
        ranks: The rank of each in ``order``; settings whose means are equal but for rounding share one.
        differences: Place → it compared with the first in ``order``; nothing for that one itself.
        num_comparisons: The p-values are corrected for.
    """

    order: tuple[int, ...]
    ranks: tuple[int, ...]
    differences: Mapping[int, Paired]
    num_comparisons: int


def rank(values: Sequence[Mapping[int, float]], *, higher_is_better: bool) -> Ranking:
    """Rank settings.

    Args:
        values: For each setting, seed → its number. One with a number that is not finite, or without any, has
            no mean and is not ranked.
        higher_is_better: Whether larger numbers are better.
    """
    sign = -1 if higher_is_better else 1
    means = {
        at: math.fsum(one.values()) / len(one)
        for at, one in enumerate(values)
        if one and all(map(math.isfinite, one.values()))
    }
    rounding = _ROUNDING * max((abs(value) for at in means for value in values[at].values()), default=0.0)
    order, ranks = _ordered({at: sign * mean for at, mean in means.items()}, rounding=rounding)
    pairs = {
        (one, other): paired(values[one], values[other])
        for place, other in enumerate(order)
        for one in order[place + 1 :]
    }
    tested = {pair: found.p_value for pair, found in pairs.items() if found.p_value is not None}
    corrected = dict(zip(tested, holm(list(tested.values())), strict=True))
    return Ranking(
        order=order,
        ranks=ranks,
        differences={
            one: replace(found, corrected=corrected.get((one, best)))
            for (one, best), found in pairs.items()
            if best == order[0]
        },
        num_comparisons=len(tested),
    )


def _ordered(means: Mapping[int, float], *, rounding: float) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Places by their means, smallest first, equal ones as they were given, and the rank of each."""
    groups: list[list[int]] = []
    for at in sorted(means, key=lambda at: (means[at], at)):
        if groups and means[at] - means[groups[-1][0]] <= rounding:
            groups[-1].append(at)
        else:
            groups.append([at])
    order = [at for group in groups for at in sorted(group)]
    starts = itertools.accumulate(map(len, groups), initial=1)
    ranks = [start for group, start in zip(groups, starts, strict=False) for _ in group]
    return tuple(order), tuple(ranks)


def paired(first: Mapping[int, float], other: Mapping[int, float]) -> Paired:
    """The first minus the other, over the seeds that both have."""
    seeds = tuple(sorted(first.keys() & other.keys()))
    if not seeds:
        return Paired(refused="no seed in common")
    apart = np.array([first[seed] - other[seed] for seed in seeds])
    rounding = _ROUNDING * float(np.abs([*first.values(), *other.values()]).max())
    mean = float(apart.mean())
    mean = 0.0 if abs(mean) <= rounding else mean
    if len(seeds) < _FEWEST:
        return Paired(seeds=seeds, mean=mean)
    if float(np.ptp(apart)) <= rounding:  # equal but for rounding: the interval would have no width
        return Paired(seeds=seeds, mean=mean, p_value=None if mean else 1.0)
    low, high = (float(end) for end in t_limits(apart))
    error = float(apart.std(ddof=1)) / math.sqrt(len(seeds))
    p_value = 2 * float(scipy.special.stdtr(len(seeds) - 1, -abs(mean) / error))
    return Paired(seeds=seeds, mean=mean, low=low, high=high, p_value=p_value)


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values corrected so that the chance of any false alarm among them stays at the level.

    Source: Holm 1979, "A simple sequentially rejective multiple test procedure".

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    found, largest = [0.0] * len(p_values), 0.0
    for place, at in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - place) * p_values[at]))
        found[at] = largest
    return found
