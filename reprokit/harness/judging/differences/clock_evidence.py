"""Whether two runs differ in nothing but metrics of the wall clock: rates, durations, time stamps."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from reprokit import adapters, runs
from reprokit.adapters import Series
from reprokit.core import problems
from reprokit.core.comparing import clock_metrics, clock_texts
from reprokit.core.comparing.clock_metrics import MetricCurve, Span
from reprokit.core.comparison import Comparison
from reprokit.errors import MetricsError


def only_the_clock(pairs: Sequence[tuple[Path, Path]], comparisons: Sequence[Comparison]) -> dict[str, str]:
    """The metrics in which finished runs differ, where every one of them is the clock's.

    Args:
        pairs: Run folders, compared two by two.
        comparisons: What came of each.

    Returns:
        Bare name → ``rate``, ``duration`` or ``time stamp``; empty where anything else differs too.
    """
    found: dict[str, str] = {}
    for (first, other), comparison in zip(pairs, comparisons, strict=True):
        if comparison.within_tolerance:
            continue
        spans = _span_of(first), _span_of(other)
        if spans[0] is None or spans[1] is None:
            return {}
        kinds = clock_kinds(first, other, comparison, spans=(spans[0], spans[1]))
        if not kinds:
            return {}
        found |= kinds
    return found


def clock_kinds(
    first: Path, other: Path, comparison: Comparison, *, spans: tuple[Span, Span]
) -> dict[str, str]:
    """The same of two folders of metrics.

    Args:
        first: One folder.
        other: The other.
        comparison: Of the two.
        spans: When the runs were made.
    """
    differing = {name for name, one in comparison.per_metric.items() if one.mismatches}
    if not differing or any(problem.severity != problems.WARNING for problem in comparison.problems):
        return {}
    try:
        curves = _curves(first, other, differing)
        texts = _texts(first, other, differing - curves.keys())
    except MetricsError:
        return {}
    kinds: dict[str, str] = {}
    by_itself = sorted(differing, key=lambda name: "per" in clock_metrics.words_of(name))
    for name in by_itself:  # durations first: a rate may be known by one
        durations = [curves[known] for known in kinds if kinds[known] == "duration" and known in curves]
        if name in curves:
            kinds[name] = clock_metrics.kind_of(name, *curves[name], spans=spans, durations=durations)
        else:
            kinds[name] = clock_texts.kind_of_texts(name, *texts.get(name, ((), ())), spans=spans)
        if not kinds[name]:
            return {}
    return {name.rpartition(":")[2]: kinds[name] for name in comparison.per_metric if name in kinds}


def _curves(first: Path, other: Path, names: set[str]) -> dict[str, tuple[MetricCurve, MetricCurve]]:
    """The numbers of some metrics, named as the comparison names them."""
    pairs = adapters.pair_runs(first, other)[0]
    found = {}
    for left, right in pairs:
        prefix = f"{left.name}:" if len(pairs) > 1 else ""
        one, two = adapters.read_series(left.path), adapters.read_series(right.path)
        for name in one.keys() & two.keys():
            if prefix + name in names:
                found[prefix + name] = _curve(one[name]), _curve(two[name])
    return found


def _texts(first: Path, other: Path, names: set[str]) -> dict[str, tuple[list[str], list[str]]]:
    """The texts of metrics that are nothing else, named as the comparison names them."""
    pairs = adapters.pair_runs(first, other)[0] if names else []
    found: dict[str, tuple[list[str], list[str]]] = {}
    for pair in pairs:
        prefix = f"{pair[0].name}:" if len(pairs) > 1 else ""
        for at, source in enumerate(pair):
            for reading in adapters.adapter_named(source.adapter).read(source.path):
                for name, value in (reading.record or {}).items():
                    if prefix + name in names and value is not None:
                        found.setdefault(prefix + name, ([], []))[at].append(value)
    return {
        name: sides
        for name, sides in found.items()
        if all(isinstance(one, str) for side in sides for one in side)
    }


def _curve(series: Series) -> MetricCurve:
    return MetricCurve(steps=series.steps, values=series.values)


def _span_of(folder: Path) -> Span | None:
    """When a finished run was made, from its record; None where it does not say."""
    record = runs.read(folder).record
    try:
        begun, ended = (
            datetime.fromisoformat(moment or "") for moment in (record.started_at, record.ended_at)
        )
    except ValueError:
        return None
    return begun.timestamp(), ended.timestamp()
