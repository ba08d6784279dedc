"""Everything that is said about one metric over the seeds of one recipe, and about two such groups.

>>> describe(curves, windows=[Window.parse("last")], generator=np.random.default_rng(0))[0].windows[0]
WindowStatistics(window='last', …)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from reprokit.core.statistics import intervals
from reprokit.core.statistics.intervals import Interval
from reprokit.core.statistics.summary import SeedSummary, Values, summarise
from reprokit.core.statistics.windows import Window, Windowed
from reprokit.features.sweeps.statistics import between_recipes, hypothesis_tests
from reprokit.features.sweeps.statistics.between_recipes import Improvement, PerformanceProfile
from reprokit.features.sweeps.statistics.hypothesis_tests import HypothesisTest
from reprokit.features.sweeps.statistics.learning_curves import Band, band
from reprokit.features.sweeps.statistics.variability import Variability, variability

_PROFILE_POINTS = 51
_NOT_REACHED = "{} of {} seeds never reached it"


@dataclass(frozen=True, slots=True, kw_only=True)
class Curves:
    """One metric of several runs: for each seed the steps and the values, shape (records,)."""

    metric: str
    seeds: tuple[int, ...]
    steps: tuple[Values, ...]
    values: tuple[Values, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowStatistics:
    """One number per seed, and what follows from these numbers.

    Attributes:
        values: Seed → number; None where it is not finite or was never reached.
        intervals: Student's t and bootstrap for the mean, bootstrap for the interquartile mean.
        notes: What was left out, and of how many seeds.
    """

    window: str
    values: Mapping[int, float]
    summary: SeedSummary
    intervals: tuple[Interval, ...]
    variability: Variability
    normality: HypothesisTest
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricStatistics:
    """One metric: its windows in the order in which they were asked for, and its learning curves."""

    metric: str
    seeds: tuple[int, ...]
    windows: tuple[WindowStatistics, ...]
    band: Band
    curves: Curves

    def of(self, window: str) -> WindowStatistics:
        return next(one for one in self.windows if one.window == window)


@dataclass(frozen=True, slots=True, kw_only=True)
class Between:
    """One metric and window in two groups.

    Attributes:
        improvement: Of the second group over the first, by higher values.
        profiles: Share of the seeds above each threshold, of the first and of the second group; None where
            a value is not finite.
    """

    metric: str
    window: str
    tests: tuple[HypothesisTest, ...]
    improvement: Improvement
    profiles: tuple[PerformanceProfile, PerformanceProfile] | None


def describe(
    curves: Sequence[Curves], *, windows: Sequence[Window], generator: np.random.Generator
) -> list[MetricStatistics]:
    """Describe metrics over seeds.

    Args:
        curves: One for each metric.
        windows: Which numbers are taken from each curve.
        generator: Draws the resamples of the bootstrap.
    """
    found = [(curve, window, _windowed(curve, window)) for curve in curves for window in windows]
    boots = _bootstraps([windowed for _, _, windowed in found], generator=generator)
    described = [
        (one.metric, _statistics(one, window, windowed, boot))
        for (one, window, windowed), boot in zip(found, boots, strict=True)
    ]
    return [
        MetricStatistics(
            metric=curve.metric,
            seeds=curve.seeds,
            windows=tuple(statistics for metric, statistics in described if metric == curve.metric),
            band=band(curve.steps, curve.values),
            curves=curve,
        )
        for curve in curves
    ]


def between(
    first: WindowStatistics, second: WindowStatistics, *, metric: str, generator: np.random.Generator
) -> Between:
    """Hold one metric and window of a second group against that of a first."""
    sides = [np.array(list(one.values.values())) for one in (first, second)]
    improvement = between_recipes.probability_of_improvement([sides[1]], [sides[0]], generator=generator)
    profiles = None
    if not improvement.refused:
        pooled = np.concatenate(sides)
        thresholds = np.linspace(pooled.min(), pooled.max(), _PROFILE_POINTS)
        both = [
            between_recipes.performance_profile([side], thresholds, generator=generator) for side in sides
        ]
        profiles = both[0], both[1]
    return Between(
        metric=metric,
        window=first.window,
        tests=(
            *hypothesis_tests.equal_means(*sides),
            hypothesis_tests.mann_whitney(*sides),
            *hypothesis_tests.equal_variances(*sides),
        ),
        improvement=improvement,
        profiles=profiles,
    )


def _windowed(curves: Curves, window: Window) -> Windowed:
    """One number per seed; at once where all seeds have the same steps."""
    first = curves.steps[0]
    if all(len(step) == len(first) and (step == first).all() for step in curves.steps):
        return window.of(first, np.array(curves.values))
    parts = [
        window.of(steps, values[None]) for steps, values in zip(curves.steps, curves.values, strict=True)
    ]
    refused = [(seed, one.refused) for seed, one in zip(curves.seeds, parts, strict=True) if one.refused]
    return Windowed(
        values=np.concatenate([part.values for part in parts]),
        num_left_out=np.concatenate([part.num_left_out for part in parts]),
        num_unreached=sum(part.num_unreached for part in parts),
        refused=f"seed {refused[0][0]}: {refused[0][1]}" if refused else "",
    )


def _bootstraps(
    found: Sequence[Windowed], *, generator: np.random.Generator
) -> list[tuple[Interval, Interval]]:
    """Both bootstrap intervals of all quantities, those of as many seeds together."""
    answers: dict[int, tuple[Interval, Interval]] = {}
    for count in sorted({len(one.values) for one in found}):
        places = [at for at, one in enumerate(found) if len(one.values) == count]
        rows = np.array([found[at].values for at in places])
        means, iqms = (
            intervals.bootstrap(rows, of=statistic, generator=generator) for statistic in ("mean", "iqm")
        )
        answers.update(zip(places, zip(means, iqms, strict=True), strict=True))
    return [answers[at] for at in range(len(found))]


def _statistics(
    curves: Curves, window: Window, windowed: Windowed, boots: tuple[Interval, Interval]
) -> WindowStatistics:
    summary, student = summarise(windowed.values), intervals.student_t(windowed.values)
    spread, normality = variability(windowed.values), hypothesis_tests.shapiro_wilk(windowed.values)
    reason = windowed.refused
    if windowed.num_unreached:
        reason = _NOT_REACHED.format(windowed.num_unreached, len(curves.seeds))
    if reason:
        summary = replace(summary, refused=dict.fromkeys(summary.refused, reason))
        student, spread = replace(student, refused=reason), replace(spread, refused=reason)
        normality = replace(normality, refused=reason)
        boots = replace(boots[0], refused=reason), replace(boots[1], refused=reason)
    return WindowStatistics(
        window=window.name,
        values=dict(zip(curves.seeds, windowed.values.tolist(), strict=True)),
        summary=summary,
        intervals=(student, *boots),
        variability=spread,
        normality=normality,
        notes=tuple(_notes(curves, windowed)),
    )


def _notes(curves: Curves, windowed: Windowed) -> list[str]:
    notes = []
    left_out = [
        f"seed {seed}: {count}"
        for seed, count in zip(curves.seeds, windowed.num_left_out.tolist(), strict=True)
        if count
    ]
    if left_out:
        notes.append(f"values that are not finite were left out: {_some(left_out)}")
    odd = [
        f"seed {seed}"
        for seed, value in zip(curves.seeds, windowed.values.tolist(), strict=True)
        if not np.isfinite(value)
    ]
    if odd and not windowed.refused and not windowed.num_unreached:
        notes.append(f"not finite: {_some(odd)}")
    if windowed.num_unreached:
        notes.append(_NOT_REACHED.format(windowed.num_unreached, len(curves.seeds)))
    return notes


def _some(names: Sequence[str], *, most: int = 5) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
