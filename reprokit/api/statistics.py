"""Statistics over seeds: estimates, intervals with their measured coverage, and how many seeds are needed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from reprokit.api.places import AnyProject, feature, project_at
from reprokit.core.statistics import intervals, permutation, power, summary
from reprokit.core.statistics.intervals import Interval
from reprokit.core.statistics.summary import SeedSummary
from reprokit.errors import UsageError

_DRAWS = 2_000


def summarise(values: Sequence[float]) -> SeedSummary:
    """Mean, spread and middle of one number a seed, shape (n,).

    >>> summarise([1.0, 2.0, 6.0]).mean
    3.0
    """
    return summary.summarise(values)


def interquartile_mean(values: Sequence[float]) -> float:
    """The mean without a quarter of the values, shape (n,), at either end.

    Source: Agarwal et al. 2021, "Deep Reinforcement Learning at the Edge of the Statistical Precipice".

    >>> interquartile_mean([0.0, 1.0, 3.0, 100.0])
    2.0
    """
    return float(summary.interquartile_mean(np.asarray(values, dtype=np.float64)))


def t_interval(values: Sequence[float]) -> Interval:
    """The 95 % t-interval of the mean of values, shape (n,), with the coverage that was measured.

    >>> t_interval([1.0]).refused
    'one seed has no spread'
    """
    return intervals.student_t(values)


def bootstrap_interval(values: Sequence[float], *, of: str = "iqm", seed: int = 0) -> Interval:
    """The 95 % percentile bootstrap interval; refused where it covered too little with so few seeds.

    Args:
        values: Shape (n,): one number a seed.
        of: ``iqm`` or ``mean``.
        seed: Of the generator of the resamples.

    >>> bootstrap_interval([float(n) for n in range(30)]).estimate
    14.5
    """
    if of not in {"iqm", "mean"}:
        raise UsageError(f"there is no bootstrap of {of!r}", where="of", expected="iqm or mean")
    return intervals.bootstrap([list(values)], of=of, generator=np.random.default_rng(seed))[0]


def holm_correction(p_values: Sequence[float]) -> list[float]:
    """p-values, shape (n,), corrected by Holm's method for the number of comparisons.

    >>> holm_correction([0.01, 0.5])
    [0.02, 0.5]
    """
    return [float(value) for value in permutation.holm(np.asarray(p_values, dtype=np.float64))]


def seeds_for_power(
    values: Sequence[float], *, margin: float, level: float = 0.05, power_wanted: float = 0.8, seed: int = 0
) -> int | None:
    """The fewest new seeds with which a drop of the margin is found; None where no number suffices.

    Args:
        values: Shape (n,), n ≥ 2: the reference, higher is better.
        margin: The drop that matters, in the unit of the values.
        level: Of the two-sided test.
        power_wanted: The share of such drops that is to be found.
        seed: Of the simulation's generator.

    >>> seeds_for_power([1.0, 1.1, 0.9, 1.0, 1.05, 0.95], margin=0.5)
    3
    """
    if len(values) < 2:
        raise UsageError("too few values", where="seeds_for_power", expected="two or more")
    return power.seeds_for_power(
        np.asarray(values, dtype=np.float64),
        margin=margin,
        level=level,
        power=power_wanted,
        draws=_DRAWS,
        generator=np.random.default_rng(seed),
    )


def statistics_of(
    *targets: str,
    metrics: Sequence[str] = (),
    windows: Sequence[str] = (),
    project: AnyProject = None,
) -> Any:
    """What ``reprokit stats --json`` prints of recipes that have runs, and of sweeps, as plain data.

    Args:
        targets: Names of recipes, and folders of sweeps.
        metrics: Patterns of the metrics; all where there is none.
        windows: Such as ``last``; all where there is none.
        project: The project, or a folder in it.

    Raises:
        CannotJudgeError: There is no finished run.

    >>> statistics_of("no-such-recipe")
    Traceback (most recent call last):
    reprokit.errors.UsageError: ...
    """
    sweeps = feature("sweeps.stats")
    asked: dict[str, Any] = {"windows": windows} if windows else {}
    found = sweeps.statistics(targets, project=project_at(project), metrics=metrics, **asked)
    return feature("sweeps.statistics_page").to_data(found)
