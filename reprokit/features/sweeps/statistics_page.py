"""Statistics over seeds for a terminal, and all of them as data; the HTML page has the same tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from reprokit.core.statistics.intervals import measured_coverage
from reprokit.core.statistics.windows import Window
from reprokit.core.verdicts.rows import counted
from reprokit.features.sweeps.statistics.variability import LIMITS, TOLERANCE
from reprokit.reports.format_values import json_number
from reprokit.reports.shorten import short_digests
from reprokit.reports.tables import aligned, fits, fitting, folded, shown, without_dashes

if TYPE_CHECKING:
    from reprokit.features.sweeps.statistics.describe import Between, MetricStatistics, WindowStatistics
    from reprokit.features.sweeps.statistics.hypothesis_tests import HypothesisTest
    from reprokit.features.sweeps.statistics.ranking import Paired

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
RANKING_HEAD = (
    "rank",
    "setting",
    "seeds",
    "mean",
    "95 % interval",
    "IQM",
    "minus the best, 95 % interval",
    "p",
)
_LEAST_NEEDED = ("std error", "std", "median", "IQM", "max", "min")
#: Reasons why runs do not count, named without ``-v``.
_MOST_REASONS = 3
_SHAPES = {
    "normal": "where results are normally distributed",
    "ceiling": "where half of them are tied at a ceiling",
    "bimodal": "where one seed in five fails",
    "skewed": "where they are exponential",
}
_CURVE_ROWS = 6
SCORE = f'score: population standard deviation / mean, "reproducible" below {TOLERANCE:g}. It does not say:'
POWER = "Power: of means one standard deviation apart; of one standard deviation three times the other."


def page_lines(found: Any, *, verbose: bool = False) -> Iterator[str]:
    """Lines for a person: the groups compared, a table for each, and what its intervals are worth.

    Args:
        found: A ``harness.stats.Statistics``.
        verbose: Add what varies, whether values look normal, and the learning curves.
    """
    if found.rankings:
        yield from _ranked_lines(found, verbose=verbose)
        if not verbose:
            yield ""
            yield "-v shows every metric of each setting."
            return
        yield ""
    called = names_of(found)
    for first, second, rows in found.between:
        yield from _between_lines(called[first], called[second], rows)
        yield ""
    for at, one in enumerate(found.groups):
        if at:
            yield ""
        yield from _group_lines(one, verbose=verbose)


def names_of(found: Any) -> dict[str, str]:
    """Name of each group → what a person calls it."""
    return {group.group.name: group.group.called for group in found.groups}


def _ranked_lines(found: Any, *, verbose: bool) -> Iterator[str]:
    yield folded(f"{shown(found.sweep)}: {sweep_line(found)}", indent=2)
    for group in found.groups:
        yield from (
            folded(f"  {shown(group.group.called, limit=1000)}: {line}", indent=4)
            for line in remarks(group, briefly=not verbose)
        )
    yield from (folded(f"Warning: {shown(line, limit=10_000)}", indent=2) for line in found.warnings)
    for ranking in found.rankings:
        yield ""
        yield folded(shown(ranking_title(ranking), limit=1000), indent=2)
        yield from fitting(ranking_table(ranking, found.groups), num_left=2)
        yield ""
        yield from (folded(line, indent=2) for line in ranking_caveats(ranking, found.groups))
    yield ""
    yield from (
        folded(line, indent=2) for line in _worth(min(len(each.group.members) for each in found.groups))
    )


_BETTER = {
    "higher": "higher is better",
    "lower": "lower is better",
    "": "higher values first; nothing says which are better",
}


def ranking_title(ranking: Any) -> str:
    """The metric and window that settings are ranked by, and which numbers are better."""
    return f"{ranking.metric}, {ranking.window}: {which_are_better(ranking)}"


def which_are_better(ranking: Any) -> str:
    """Which numbers are better, as a person says it."""
    return "fewer steps are better" if Window.parse(ranking.window).better else _BETTER[ranking.direction]


def sweep_line(found: Any) -> str:
    """How many settings a sweep has, and which seeds."""
    seeds = {tuple(member.seed for member in group.group.members) for group in found.groups}
    same = f", {seeds_line(found.groups[0])} each" if len(seeds) == 1 else ""
    return f"{counted(len(found.groups), 'setting')}{same}"


def ranking_table(one: Any, groups: Sequence[Any]) -> list[tuple[str, ...]]:
    """The settings of a sweep, best first, each compared with the best, below the names of the columns."""
    rows: list[tuple[str, ...]] = [RANKING_HEAD]
    for place, at in zip(one.ranking.ranks, one.ranking.order, strict=True):
        metric = next(each for each in groups[at].metrics if each.metric == one.metric)
        window = metric.of(one.window)
        apart = one.ranking.differences.get(at)
        interval = window.intervals[0]
        rows.append(
            (
                str(place),
                shown(groups[at].group.called, limit=1000),
                str(len(window.values)),
                number(window.summary.mean),
                _pair(interval.low, interval.high),
                number(window.summary.iqm),
                *(_minus_the_best(apart) if apart else ("", "")),
            )
        )
    table = without_dashes(rows, num_left=2)
    same = len({row[2] for row in rows[1:]}) == 1
    return [row[:2] + row[3:] for row in table] if same and len(table[0]) > 2 else table


def _minus_the_best(apart: Paired) -> tuple[str, str]:
    interval = "" if apart.low is None else f" {_pair(apart.low, apart.high)}"
    p_value = "-" if apart.corrected is None else f"{apart.corrected:.2g}"
    return f"{number(apart.mean)}{interval}", p_value


def ranking_caveats(one: Any, groups: Sequence[Any]) -> Iterator[str]:
    """Which settings have no place and why, and what the differences and p-values are."""
    for at, each in enumerate(groups):
        if at not in one.ranking.order:
            reasons = [
                reason
                for metric in each.metrics
                if metric.metric == one.metric
                for reason in metric.of(one.window).summary.refused.values()
            ]
            why = (
                reasons[0] if reasons else "no member is finished" if not each.group.members else "not logged"
            )
            yield f"not ranked: {shown(each.group.called, limit=1000)}: {shown(why, limit=1000)}"
    for at, apart in one.ranking.differences.items():
        if apart.refused:
            yield f"{shown(groups[at].group.called, limit=1000)}: {apart.refused} with the best"
    number_of = one.ranking.num_comparisons
    if number_of:
        yield (
            "Difference from the best: paired by seed. p: paired t-test, which takes the "
            f"differences to be normal, corrected by Holm's method for {counted(number_of, 'comparison')} "
            "(every pair of settings, because the best was chosen by the same numbers)."
        )
    elif one.ranking.differences:
        yield (
            "Difference from the best: paired by seed. With one seed in common there is neither interval nor "
            "test."
        )


def to_data(found: Any) -> dict[str, Any]:
    """Everything in a ``harness.stats.Statistics``, as JSON types; NaN and infinities are texts."""
    groups = [
        {
            **_data(group.group),
            "seeds": [member.seed for member in group.group.members],
            "notes": list(group.notes),
            "metrics": {metric.metric: _metric_data(metric) for metric in group.metrics},
        }
        for group in found.groups
    ]
    between = [
        {"first": first, "second": second, "metrics": _data(rows)} for first, second, rows in found.between
    ]
    return {
        "exit_code": 0,
        "bootstrap_seed": found.bootstrap_seed,
        "groups": groups,
        "between": between,
        "sweep": found.sweep,
        "rankings": [_ranking_data(ranking, found.groups) for ranking in found.rankings],
        "warnings": list(found.warnings),
        "score_does_not_say": list(LIMITS),
    }


def _ranking_data(one: Any, groups: Sequence[Any]) -> dict[str, Any]:
    """A ranking with names of groups in place of their places."""
    rows = [
        {"group": groups[at].group.name, "rank": place, "minus_best": _data(one.ranking.differences.get(at))}
        for place, at in zip(one.ranking.ranks, one.ranking.order, strict=True)
    ]
    told = {name: getattr(one, name) for name in ("metric", "window", "direction")}
    return {**told, "settings": rows, "num_comparisons": one.ranking.num_comparisons}


def _metric_data(metric: MetricStatistics) -> dict[str, Any]:
    windows = {window.window: _data(window) for window in metric.windows}
    for one in windows.values():
        one["variability"]["does_not_say"] = "score_does_not_say"
    return {"seeds": list(metric.seeds), "windows": windows, "curve": _data(metric.band)}


def _data(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _data(getattr(value, field.name)) for field in fields(value)}
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
    return (
        f"{counted(len(seeds), 'seed')} ({', '.join(_ranges(seeds) if len(seeds) > 12 else map(str, seeds))})"
    )


def _ranges(seeds: Sequence[int]) -> Iterator[str]:
    """Rising numbers, those that follow one another as ``0..9``."""
    start = 0
    for at in range(1, len(seeds) + 1):
        if at == len(seeds) or seeds[at] != seeds[at - 1] + 1:
            first, last = seeds[start], seeds[at - 1]
            yield f"{first}..{last}" if at - start > 2 else ", ".join(map(str, seeds[start:at]))
            start = at


def remarks(one: Any, *, briefly: bool = False) -> Iterator[str]:
    """Runs of a group that do not count, and what is odd about the others.

    Args:
        one: A group and its statistics.
        briefly: Name the commonest reasons for which runs do not count, and only count the others.
    """
    if one.group.is_mixed:
        yield "MIXED: machines of several kinds made these runs, so they differ by more than their seeds"
    left_out: dict[str, list[str]] = {}
    for run in one.group.left_out:
        left_out.setdefault(run.reason, []).append(shown(run.folder.name))
    reasons = sorted(left_out.items(), key=lambda item: -len(item[1]))
    named = reasons[:_MOST_REASONS] if briefly else reasons
    for reason, names in named:
        runs = names[0] if len(names) == 1 else f"{len(names)} runs, {names[0]} to {names[-1]}"
        yield f"left out: {runs}: {shown(short_digests(reason), limit=1000)}"
    if more := reasons[len(named) :]:
        runs = counted(sum(len(names) for _, names in more), "more run")
        yield f"left out: {runs}, for {counted(len(more), 'more reason')} (-v names them)"
    if one.group.again:
        yield f"counted once: {counted(len(one.group.again), 'more run')} of the same seeds, equal"
    for note in one.notes:
        yield shown(note, limit=1000)


def summary_table(one: Any) -> list[tuple[str, ...]]:
    """Every metric and window of a group, below the names of the columns."""
    return without_dashes(
        [SUMMARY_HEAD, *(_row(metric, window) for metric, window in _rows(one))], num_left=2
    )


def caveats(one: Any) -> Iterator[str]:
    """Why numbers are missing in that table, and what the intervals in it cover."""
    rows = _rows(one)
    yield from _refusals(rows)
    if any(window.intervals[0].low is not None for _, window in rows):
        yield from _worth(len(one.group.members))
    having = [window.summary for _, window in rows if window.summary.mean is not None]
    if len(one.group.members) > 1 and having and all(summary.zero_variance for summary in having):
        yield "Every metric here has one value with all seeds: the program may not use its seed."


def _rows(one: Any) -> list[tuple[MetricStatistics, WindowStatistics]]:
    return [(metric, window) for metric in one.metrics for window in metric.windows]


def _group_lines(one: Any, *, verbose: bool) -> Iterator[str]:
    inputs = f"; {shown(one.group.inputs, limit=1000)}" if one.group.inputs else ""
    yield folded(f"{shown(one.group.called, limit=1000)}: {seeds_line(one)}{inputs}", indent=2)
    if len(table := summary_table(one)) > 1:
        yield from fitting(table, num_left=2) if verbose else _narrow(table)
        yield ""
    yield from (folded(f"  {line}", indent=4) for line in remarks(one, briefly=not verbose))
    yield from (folded(line, indent=2) for line in caveats(one))
    if verbose:
        if len(table := variability_table(one)) > 1:
            yield ""
            yield from fitting(table, num_left=2)
        yield ""
        yield folded(SCORE, indent=2)
        yield from (folded(f"  {limit}", indent=4) for limit in LIMITS)
        yield ""
        for metric in one.metrics:
            yield from _curve_lines(metric)


def _narrow(table: Sequence[Sequence[str]]) -> list[str]:
    """The table, on a narrow terminal without the columns that ``-v`` has."""
    for column in _LEAST_NEEDED:
        if fits(lines := aligned(table, num_left=2)):
            return lines
        kept = [at for at, name in enumerate(table[0]) if name != column]
        table = [[row[at] for at in kept] for row in table]
    return fitting(table, num_left=2)


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
    words = ", ".join(f"{share * 100:.0f} % {_SHAPES[shape]}" for shape, share in covered.items())
    yield f"How often a 95 % t-interval over {counted(num_seeds, 'seed')} contains the true mean: {words}."


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
    return without_dashes(table, num_left=2)


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
    title = f"{shown(metric.metric)}: mean and 95 % t-interval at single steps, {len(at)} of {count}{left}"
    yield folded(title, indent=2)
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
    yield folded(f"{shown(second, limit=1000)} against {shown(first, limit=1000)}", indent=2)
    yield from fitting(between_table(rows), num_left=2)
    yield folded(POWER, indent=2)


def between_table(rows: Sequence[Between]) -> list[tuple[str, ...]]:
    """A later group compared with the first, metric by metric, below the names of the columns."""
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
    for row in rows:
        tests = {test.name: test for test in row.tests}
        table.append(
            (
                shown(row.metric),
                row.window,
                number(row.improvement.probability),
                _pair(row.improvement.low, row.improvement.high),
                *_p_and_power(tests["welch"]),
                number(tests["mann_whitney"].p_value),
                number(tests["mann_whitney"].smallest_p_value),
                _p_and_power(tests["mann_whitney"])[1],
                *_p_and_power(tests["brown_forsythe"]),
            )
        )
    return without_dashes(table, num_left=2)


def _p_and_power(test: HypothesisTest) -> tuple[str, str]:
    return number(test.p_value), "-" if test.power is None else f"{test.power:.0%}"


def _pair(low: float | None, high: float | None) -> str:
    return "-" if low is None else f"[{number(low)}, {number(high)}]"


def number(value: float | None) -> str:
    """Six digits; ``-`` for none."""
    return "-" if value is None else f"{value:.6g}"
