"""Statistics over seeds for a terminal, and all of them as data; the HTML page has the same tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from reprokit.core.rows import counted
from reprokit.core.statistics.intervals import measured_coverage
from reprokit.core.statistics.variability import LIMITS, TOLERANCE
from reprokit.reports.format_values import json_number
from reprokit.reports.tables import aligned, shown

if TYPE_CHECKING:
    from reprokit.core.statistics.describe import Between, MetricStatistics, WindowStatistics
    from reprokit.core.statistics.hypothesis_tests import Tested

SUMMARY_HEAD = (
    "metric",
    "window",
    "mean",
    "95 % interval",
    "std",
    "std error",
    "median",
    "IQM",
    "min",
    "max",
)
_SHAPES = {
    "normal": "normal returns",
    "ceiling": "half of them tied at a ceiling",
    "bimodal": "one seed in five failing",
    "skewed": "exponential returns",
}
_CURVE_ROWS = 6
SCORE = f'score: population standard deviation / mean, "reproducible" below {TOLERANCE:g}. It does not say:'
POWER = "Power: of means one standard deviation apart; of one standard deviation three times the other."


def page_lines(found: Any, *, verbose: bool = False) -> Iterator[str]:
    """Lines for a person: a table for each group, what its intervals are worth, and the groups compared.

    Args:
        found: A ``harness.stats.Statistics``.
        verbose: Add what varies, whether values look normal, and the learning curves.
    """
    for at, one in enumerate(found.groups):
        if at:
            yield ""
        yield from _group_lines(one, verbose=verbose)
    for first, second, rows in found.between:
        yield ""
        yield from _between_lines(first, second, rows)


def to_data(found: Any) -> dict[str, Any]:
    """Everything in a ``harness.stats.Statistics``, as JSON types; NaN and infinities are texts."""
    groups = [
        {
            **_data(one.group),
            "seeds": [member.seed for member in one.group.members],
            "notes": list(one.notes),
            "metrics": {metric.metric: _metric_data(metric) for metric in one.metrics},
        }
        for one in found.groups
    ]
    between = [
        {"first": first, "second": second, "metrics": _data(rows)} for first, second, rows in found.between
    ]
    return {
        "exit_code": 0,
        "bootstrap_seed": found.bootstrap_seed,
        "groups": groups,
        "between": between,
        "score_does_not_say": list(LIMITS),
    }


def _metric_data(metric: MetricStatistics) -> dict[str, Any]:
    windows = {one.window: _data(one) for one in metric.windows}
    for one in windows.values():
        one["variability"]["does_not_say"] = "score_does_not_say"
    return {"seeds": list(metric.seeds), "windows": windows, "curve": _data(metric.band)}


def _data(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: _data(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _data(one) for key, one in value.items()}
    if isinstance(value, np.ndarray):
        odd = not np.isfinite(value).all()
        return [json_number(one) for one in value.tolist()] if odd else value.tolist()
    if isinstance(value, list | tuple):
        return [_data(one) for one in value]
    return str(value) if isinstance(value, Path) else json_number(value)


def seeds_line(one: Any) -> str:
    """Which seeds a group has."""
    seeds = [member.seed for member in one.group.members]
    named = ", ".join(map(str, seeds[:12])) + (f", … {seeds[-1]}" if len(seeds) > 12 else "")
    return f"{counted(len(seeds), 'seed')} ({named})"


def remarks(one: Any) -> Iterator[str]:
    """Runs of a group that do not count, and what is odd about the others."""
    if one.group.is_mixed:
        yield "MIXED: machines of several kinds made these runs, so they differ by more than their seeds"
    for run in one.group.left_out:
        yield f"left out: {shown(run.folder.name)}: {shown(run.reason, limit=1000)}"
    if one.group.again:
        yield f"counted once: {counted(len(one.group.again), 'more run')} of the same seeds, equal"
    for note in one.notes:
        yield shown(note, limit=1000)


def summary_table(one: Any) -> list[tuple[str, ...]]:
    """Every metric and window of a group, below the names of the columns."""
    return [SUMMARY_HEAD, *(_row(metric, window) for metric, window in _rows(one))]


def caveats(one: Any) -> Iterator[str]:
    """Why numbers are missing in that table, and what the intervals in it cover."""
    yield from _refusals(_rows(one))
    yield from _worth(len(one.group.members))


def _rows(one: Any) -> list[tuple[MetricStatistics, WindowStatistics]]:
    return [(metric, window) for metric in one.metrics for window in metric.windows]


def _group_lines(one: Any, *, verbose: bool) -> Iterator[str]:
    yield f"{shown(one.group.name)}: {seeds_line(one)}"
    yield from (f"  {line}" for line in remarks(one))
    yield ""
    yield from aligned(summary_table(one), num_left=2)
    yield ""
    yield from caveats(one)
    if verbose:
        yield ""
        yield from aligned(variability_table(one), num_left=2)
        yield ""
        yield SCORE
        yield from (f"  {one}" for one in LIMITS)
        yield ""
        for metric in one.metrics:
            yield from _curve_lines(metric)


def _row(metric: MetricStatistics, window: WindowStatistics) -> tuple[str, ...]:
    found = window.summary
    interval = window.intervals[0]
    between = "-" if interval.low is None else f"[{number(interval.low)}, {number(interval.high)}]"
    numbers = (found.std, found.standard_error, found.median, found.iqm, found.min, found.max)
    return shown(metric.metric), window.window, number(found.mean), between, *map(number, numbers)


def _refusals(rows: Sequence[tuple[MetricStatistics, WindowStatistics]]) -> Iterator[str]:
    """Every reason for a missing number, with the rows that it holds for."""
    places: dict[str, list[str]] = {}
    for metric, window in rows:
        reasons = {*window.summary.refused.values(), window.intervals[0].refused, *window.notes} - {""}
        for reason in sorted(reasons):
            places.setdefault(reason, []).append(f"{metric.metric} {window.window}")
    for reason, where in places.items():
        more = f" and {len(where) - 4} more" if len(where) > 4 else ""
        yield f"{shown(reason, limit=1000)}: {shown(', '.join(where[:4]), limit=1000)}{more}"


def _worth(num_seeds: int) -> Iterator[str]:
    """What the intervals cover with so many seeds."""
    covered = measured_coverage("student_t", num_seeds)
    if not covered:
        return
    words = ", ".join(f"{share:.0%} with {_SHAPES[shape]}" for shape, share in covered.items())
    yield f"A 95 % t-interval over {counted(num_seeds, 'seed')} holds the true mean: {words}."


def variability_table(one: Any) -> list[tuple[str, ...]]:
    """How much each metric and window of a group varies, and whether its values look normal."""
    table: list[tuple[str, ...]] = [
        (
            "metric",
            "window",
            "CV",
            "score",
            "std, 95 % interval",
            "Shapiro–Wilk p",
            "power",
            "bootstrap of the IQM",
        )
    ]
    for metric, window in _rows(one):
        spread, normal, iqm = window.variability, window.normality, window.intervals[2]
        table.append(
            (
                shown(metric.metric),
                window.window,
                number(spread.coefficient_of_variation),
                number(spread.score),
                _pair(spread.std_low, spread.std_high),
                number(normal.p_value),
                "-" if normal.power is None else f"{normal.power:.0%}",
                _pair(iqm.low, iqm.high),
            )
        )
    return table


def _curve_lines(metric: MetricStatistics) -> Iterator[str]:
    band = metric.band
    count = len(band.steps)
    if not count:
        yield f"{shown(metric.metric)}: the seeds share no step"
        return
    at = sorted({round(row * (count - 1) / (_CURVE_ROWS - 1)) for row in range(_CURVE_ROWS)})
    left = (
        f"; {band.num_steps_left_out} steps that only some seeds have are left out"
        if band.num_steps_left_out
        else ""
    )
    yield f"{shown(metric.metric)}: mean and 95 % t-interval at single steps, {len(at)} of {count}{left}"
    rows = [
        (
            f"  {number(float(band.steps[i]))}",
            number(float(band.mean[i])),
            _pair(float(band.low[i]), float(band.high[i])),
        )
        for i in at
    ]
    yield from aligned(rows, num_left=0)


def _between_lines(first: str, second: str, rows: Sequence[Between]) -> Iterator[str]:
    yield f"{shown(second)} against {shown(first)}"
    yield from aligned(between_table(rows), num_left=2)
    yield POWER


def between_table(rows: Sequence[Between]) -> list[tuple[str, ...]]:
    """A later group held against the first, metric by metric, below the names of the columns."""
    head = (
        "metric",
        "window",
        "P(higher)",
        "95 % interval",
        "Welch p",
        "power",
        "Mann–Whitney p",
        "least p",
        "power",
        "Brown–Forsythe p",
        "power",
    )
    table: list[tuple[str, ...]] = [head]
    for one in rows:
        tests = {test.name: test for test in one.tests}
        table.append(
            (
                shown(one.metric),
                one.window,
                number(one.improvement.probability),
                _pair(one.improvement.low, one.improvement.high),
                *_p_and_power(tests["welch"]),
                number(tests["mann_whitney"].p_value),
                number(tests["mann_whitney"].smallest_p_value),
                _p_and_power(tests["mann_whitney"])[1],
                *_p_and_power(tests["brown_forsythe"]),
            )
        )
    return table


def _p_and_power(test: Tested) -> tuple[str, str]:
    return number(test.p_value), "-" if test.power is None else f"{test.power:.0%}"


def _pair(low: float | None, high: float | None) -> str:
    return "-" if low is None else f"[{number(low)}, {number(high)}]"


def number(value: float | None) -> str:
    """Six digits; ``-`` for none."""
    return "-" if value is None else f"{value:.6g}"
