"""Intervals for a mean over seeds, with the coverage that was measured at this number of seeds.

A 95 % interval that covers 75 % misleads: the percentile bootstrap is refused where it covered less than
``LEAST_COVERAGE`` of normal returns. The t-interval is never refused above one seed, but says what it covers.

    >>> student_t([1.0, 2.0, 3.0]).low
    -0.48...
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from reprokit.core.statistics.measured import COVERAGE, LEVEL, at_most
from reprokit.core.statistics.quantiles import t_quantile
from reprokit.core.statistics.summary import TRIMMED, Values, interquartile_mean, summarise, why_no_statistics

LEAST_COVERAGE = 0.90
NUM_RESAMPLES = 2_000
_ZERO = "zero variance: all {} seeds have the same value, which says nothing about the next one"


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """An interval, or why there is none.

    Attributes:
        method: ``student_t`` or ``bootstrap``.
        of: ``mean`` or ``iqm``.
        level: The coverage that is asked for: 0.95.
        coverage: Shape of the returns → how often such an interval held the true value, in simulations with
            this number of seeds (or the largest smaller one that was simulated).
        refused: Why ``low`` and ``high`` are None; "" where they are not.

    >>> found = t_interval([1.0, 2.0, 3.0, 4.0, 5.0])
    >>> found.low < 3.0 < found.high
    True
    """

    method: str
    of: str
    estimate: float | None
    low: float | None = None
    high: float | None = None
    level: float = LEVEL
    coverage: Mapping[str, float] = field(default_factory=dict)
    refused: str = ""


def student_t(values: Sequence[float] | Values) -> Interval:
    """The t-interval of the mean, shape (n,): mean ± t(n - 1) times the standard error."""
    found = summarise(values)
    coverage = measured_coverage("student_t", found.num_seeds)
    reason = found.refused.get("mean") or found.refused.get("std") or ""
    if found.zero_variance:
        reason = _ZERO.format(found.num_seeds)
    if reason:
        return Interval(method="student_t", of="mean", estimate=found.mean, refused=reason, coverage=coverage)
    low, high = map(float, t_limits(np.asarray(values, dtype=np.float64)))
    return Interval(method="student_t", of="mean", estimate=found.mean, low=low, high=high, coverage=coverage)


def bootstrap(
    columns: Sequence[Sequence[float]] | Values,
    *,
    of: str,
    generator: np.random.Generator,
    num_resamples: int = NUM_RESAMPLES,
) -> list[Interval]:
    """Percentile bootstrap intervals of many quantities at once.

    Args:
        columns: Shape (quantities, n): each one value per seed.
        of: ``mean`` or ``iqm``.
        generator: Draws which values a resample holds, the same ranks for every quantity.
        num_resamples: How many.
    """
    rows = np.asarray(columns, dtype=np.float64)
    count = rows.shape[1]
    coverage = measured_coverage(f"bootstrap_{of}", count)
    reasons = [_why_no_bootstrap(row, coverage) for row in rows]
    summaries = [summarise(row) for row in rows]
    estimates = [summary.mean if of == "mean" else summary.iqm for summary in summaries]
    usable = [at for at, reason in enumerate(reasons) if not reason]
    limits: dict[int, tuple[float, float]] = {}
    if usable:
        low, high = bootstrap_limits(rows[usable], of=of, generator=generator, num_resamples=num_resamples)
        limits = {at: (float(low[i]), float(high[i])) for i, at in enumerate(usable)}
    return [
        Interval(
            method="bootstrap",
            of=of,
            estimate=estimates[at],
            low=limits[at][0] if at in limits else None,
            high=limits[at][1] if at in limits else None,
            coverage=coverage,
            refused=reasons[at],
        )
        for at in range(len(rows))
    ]


def stratified_bootstrap(
    strata: Sequence[Values],
    *,
    of: str,
    generator: np.random.Generator,
    num_resamples: int = NUM_RESAMPLES,
) -> Interval:
    """A percentile bootstrap over several tasks: seeds are drawn within each task, then all are pooled.

    Source: Agarwal et al. 2021, "Deep Reinforcement Learning at the Edge of the Statistical Precipice".

    Args:
        strata: One array a task, shape (n,), all scores on one scale.
        of: ``mean`` or ``iqm`` of all scores.
        generator: Draws the seeds.
        num_resamples: How many.
    """
    pooled = np.concatenate(strata)
    found = summarise(pooled)
    coverage = measured_coverage(f"bootstrap_{of}", min(map(len, strata)))
    reason = why_no_statistics(pooled) or _why_no_bootstrap(pooled, coverage)
    estimate = found.mean if of == "mean" else found.iqm
    if reason:
        return Interval(method="bootstrap", of=of, estimate=estimate, coverage=coverage, refused=reason)
    drawn = [one[generator.integers(0, len(one), size=(num_resamples, len(one)))] for one in strata]
    resampled = np.concatenate(drawn, axis=1)
    means = resampled.mean(axis=1) if of == "mean" else interquartile_mean(resampled)
    low, high = np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(
        method="bootstrap", of=of, estimate=estimate, low=float(low), high=float(high), coverage=coverage
    )


def t_limits(rows: Values) -> tuple[Values, Values]:
    """Both ends of the t-interval of each row's mean, shape (quantities, n)."""
    count = rows.shape[-1]
    quantile = float(t_quantile(count - 1, (1 + LEVEL) / 2))
    mean, half = rows.mean(axis=-1), quantile * rows.std(axis=-1, ddof=1) / math.sqrt(count)
    return mean - half, mean + half


def bootstrap_limits(
    rows: Values, *, of: str, generator: np.random.Generator, num_resamples: int = NUM_RESAMPLES
) -> tuple[Values, Values]:
    """Both ends of the percentile bootstrap interval of each row, shape (quantities, n), refused or not."""
    weights = _resample_weights(rows.shape[1], of=of, generator=generator, num_resamples=num_resamples)
    resampled = weights @ np.sort(rows, axis=1).T
    low, high = np.quantile(resampled, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    return low, high


def measured_coverage(method: str, num_seeds: int) -> dict[str, float]:
    """Shape of the returns → coverage; empty below the smallest number of seeds that was simulated."""
    found = {shape: at_most(by_seeds, num_seeds) for shape, by_seeds in COVERAGE[method].items()}
    return {shape: coverage for shape, coverage in found.items() if coverage is not None}


def _why_no_bootstrap(values: Values, coverage: Mapping[str, float]) -> str:
    if reason := why_no_statistics(values):
        return reason
    if len(values) == 1:
        return "one seed has no spread"
    if (values == values[0]).all():
        return _ZERO.format(len(values))
    normal = coverage.get("normal", math.nan)
    if not normal >= LEAST_COVERAGE:
        return f"with so few seeds it covers {normal:.0%} instead of {LEVEL:.0%}"
    return ""


def _resample_weights(count: int, *, of: str, generator: np.random.Generator, num_resamples: int) -> Values:
    """Shape (resamples, n): what each of the sorted values weighs in the mean, or in the interquartile mean.

    A resample says how often each rank was drawn. Its interquartile mean takes those between the quarters.
    """
    drawn = generator.integers(0, count, size=(num_resamples, count))
    rows = np.arange(num_resamples)[:, None] * count
    times = np.bincount((drawn + rows).ravel(), minlength=num_resamples * count).reshape(num_resamples, count)
    if of == "mean":
        return times / count
    cut = int(TRIMMED * count)
    upto = times.cumsum(axis=1).clip(cut, count - cut)
    kept: Values = np.diff(upto, axis=1, prepend=cut) / (count - 2 * cut)
    return kept
