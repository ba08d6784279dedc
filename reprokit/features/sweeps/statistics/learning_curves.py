"""Learning curves over seeds: mean and a pointwise t-interval at every step that all seeds share.

The band holds the true mean with 95 % at each step taken alone, not at all steps together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
import scipy.special

from reprokit.core.statistics.measured import LEVEL
from reprokit.core.statistics.summary import Values


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """One metric over all seeds, step by step.

    Attributes:
        steps: Those that every seed has, shape (n,), rising.
        mean: NaN where some seed's value is not finite.
        low: With ``high`` the t-interval of the mean; NaN as the mean, and with one seed.
        num_seeds: How many curves there are.
        num_steps_left_out: Steps that only some seeds have.
        num_not_finite: Steps where some seed's value is not finite.
    """

    steps: Values
    mean: Values
    std: Values
    low: Values
    high: Values
    num_seeds: int
    num_steps_left_out: int
    num_not_finite: int


def band(steps: Sequence[Values], values: Sequence[Values]) -> Band:
    """The band of one metric.

    Args:
        steps: One array a seed, shape (records,). Of a step that comes twice, the last value counts.
        values: As many arrays of as many values.
    """
    first = steps[0]
    if (
        all(len(step) == len(first) and (step == first).all() for step in steps)
        and (np.diff(first) > 0).all()
    ):
        return _band_of(first, np.array(values), num_steps_left_out=0)
    together = [np.unique(step[::-1], return_index=True) for step in steps]  # the last of equal ones
    shared = reduce(np.intersect1d, (one for one, _ in together))
    every = reduce(np.union1d, (one for one, _ in together))
    matrix = np.array(
        [
            value[::-1][places[np.searchsorted(one, shared)]]
            for (one, places), value in zip(together, values, strict=True)
        ]
    )
    return _band_of(shared, matrix, num_steps_left_out=len(every) - len(shared))


def _band_of(steps: Values, matrix: Values, *, num_steps_left_out: int) -> Band:
    count = len(matrix)
    finite = np.isfinite(matrix).all(axis=0)
    usable = np.where(finite, matrix, np.nan)
    mean = usable.mean(axis=0)
    std = usable.std(axis=0, ddof=1) if count > 1 else np.full(len(steps), np.nan)
    quantile = float(scipy.special.stdtrit(count - 1, (1 + LEVEL) / 2)) if count > 1 else np.nan
    half = quantile * std / np.sqrt(count)
    return Band(
        steps=steps,
        mean=mean,
        std=std,
        low=mean - half,
        high=mean + half,
        num_seeds=count,
        num_steps_left_out=num_steps_left_out,
        num_not_finite=int(np.count_nonzero(~finite)),
    )
