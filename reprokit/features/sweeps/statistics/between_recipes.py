"""Two groups of seeds compared: probability of improvement, performance profiles.

Source: Agarwal et al. 2021, "Deep Reinforcement Learning at the Edge of the Statistical Precipice".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reprokit.core.statistics.intervals import LEAST_COVERAGE, NUM_RESAMPLES, measured_coverage
from reprokit.core.statistics.measured import LEVEL
from reprokit.core.statistics.summary import Values, why_no_statistics

_SAME = (
    "every resample has the same share: an interval of no width would say that the next seed cannot differ"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Improvement:
    """How probable it is that a seed of the first group beats one of the second; ties count half.

    Attributes:
        probability: The mean over the tasks; None where ``refused`` says why.
        low: With ``high`` the stratified bootstrap interval; None where ``no_interval`` says why.
    """

    probability: float | None
    low: float | None = None
    high: float | None = None
    level: float = LEVEL
    no_interval: str = ""
    refused: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PerformanceProfile:
    """Share of the seeds above each threshold, with a pointwise bootstrap interval where there is one."""

    thresholds: Values
    shares: Values
    low: Values | None
    high: Values | None
    no_interval: str = ""


def probability_of_improvement(
    first: Sequence[Values],
    second: Sequence[Values],
    *,
    generator: np.random.Generator,
    num_resamples: int = NUM_RESAMPLES,
) -> Improvement:
    """P(first > second) + P(first = second) / 2, the mean over tasks.

    Args:
        first: One array a task, shape (n,): one score per seed, higher is better.
        second: The same tasks of the other group.
        generator: Draws seeds within each task and group.
        num_resamples: How many for the interval.
    """
    if reason := why_no_statistics(np.concatenate([*first, *second])):
        return Improvement(probability=None, refused=reason)
    pairs = list(zip(first, second, strict=True))
    probability = float(np.mean([_share(one[None], other[None])[0] for one, other in pairs]))
    if reason := _why_no_interval([*first, *second]):
        return Improvement(probability=probability, no_interval=reason)
    shares = [
        _share(*(_resampled(side, generator=generator, num_resamples=num_resamples) for side in pair))
        for pair in pairs
    ]
    low, high = np.quantile(np.mean(shares, axis=0), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    if low == high:
        return Improvement(probability=probability, no_interval=_SAME)
    return Improvement(probability=probability, low=float(low), high=float(high))


def performance_profile(
    tasks: Sequence[Values],
    thresholds: Values,
    *,
    generator: np.random.Generator,
    num_resamples: int = NUM_RESAMPLES,
) -> PerformanceProfile:
    """Share of the seeds whose score is above each threshold, the mean over tasks.

    Raises:
        ValueError: A score is not finite.
    """
    if reason := why_no_statistics(np.concatenate(tasks)):
        raise ValueError(reason)
    shares = np.mean([_above(task[None], thresholds)[0] for task in tasks], axis=0)
    if reason := _why_no_interval(tasks):
        return PerformanceProfile(
            thresholds=thresholds, shares=shares, low=None, high=None, no_interval=reason
        )
    resampled = np.mean(
        [
            _above(_resampled(task, generator=generator, num_resamples=num_resamples), thresholds)
            for task in tasks
        ],
        axis=0,
    )
    low, high = np.quantile(resampled, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    return PerformanceProfile(thresholds=thresholds, shares=shares, low=low, high=high)


def _resampled(values: Values, *, generator: np.random.Generator, num_resamples: int) -> Values:
    return values[generator.integers(0, len(values), size=(num_resamples, len(values)))]


def _share(first: Values, second: Values) -> Values:
    """Of all pairs in each row, the share in which the first is larger, ties half."""
    ordered = np.sort(second, axis=1)
    count = first.shape[1] * second.shape[1]
    rows = list(zip(ordered, first, strict=True))
    below = np.array([np.searchsorted(row, one, side="left").sum() for row, one in rows])
    upto = np.array([np.searchsorted(row, one, side="right").sum() for row, one in rows])
    shares: Values = (below + upto) / (2 * count)
    return shares


def _above(rows: Values, thresholds: Values) -> Values:
    """Shape (rows, thresholds): share of each row's values above each threshold."""
    ordered = np.sort(rows, axis=1)
    upto = np.array([np.searchsorted(row, thresholds, side="right") for row in ordered])
    shares: Values = 1 - upto / rows.shape[1]
    return shares


def _why_no_interval(groups: Sequence[Values]) -> str:
    fewest = min(map(len, groups))
    covered = measured_coverage("bootstrap_mean", fewest).get("normal", 0.0)
    if covered >= LEAST_COVERAGE:
        return ""
    return f"with {fewest} seeds a bootstrap interval covers {covered:.0%} instead of {LEVEL:.0%}"
