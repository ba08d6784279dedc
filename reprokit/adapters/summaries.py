"""A metrics source read from end to end: what it holds, and its curves.

>>> read_series(Path("runs/x/metrics.jsonl"), max_points=500)["loss/policy"].steps[0]
256
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from reprokit.adapters import from_jsonl, sources
from reprokit.adapters.reading import MetricsSource, MetricsSummary, Reading, Series
from reprokit.core import json_values, problems
from reprokit.core.comparing import steps
from reprokit.core.comparing.metric_names import nearest_patterns, quoted, within
from reprokit.core.comparing.steps import StepWatch
from reprokit.core.json_values import MISSING
from reprokit.core.problems import ProblemLog
from reprokit.core.report_parts import DrawnCurve
from reprokit.errors import MetricsError, UsageError

_NO_STEPS = "step"


def read(source: MetricsSource) -> Iterator[Reading]:
    """The records of a source, in order."""
    return sources.adapter_named(source.adapter).read(source.path)


def read_from(source: MetricsSource, *, first: int, count: int) -> list[Reading]:
    """At most ``count`` records of a source, from position ``first`` (counted from 0) on."""
    if source.adapter == from_jsonl.NAME:
        return list(islice(from_jsonl.read_from(source.path, first), count))
    return list(islice(read(source), first, first + count))


def summarise(path: Path) -> MetricsSummary:
    """Read a metrics file of any format, or the folder of event files, from end to end.

    Raises:
        MetricsError: The path cannot be opened. Whatever is wrong inside is among ``problems``.
    """
    log = ProblemLog()
    watch = StepWatch(log)
    step_name: str | None = None
    last_step: Any = None
    num_records = 0
    final: dict[str, Any] = {}
    waiting: set[str] = set()  # names of which no value was seen yet
    for reading in read(sources.source_of(path)):
        for kind, detail in reading.notes:
            log.add(kind, "actual", line=reading.line, detail=detail)
        if reading.record is None:
            continue
        num_records += 1
        step_name = step_name or steps.name_in(reading.record)
        if step_name is not None:
            step = reading.record.get(step_name, MISSING)
            watch.see(step, step, lines=(reading.line, reading.line))
            last_step = last_step if step is MISSING else step
        waiting |= {
            name for name in reading.record if name not in final
        }  # a difference would read all of final
        waiting -= {name for name in waiting if _has_value(reading.record.get(name))}
        final.update(reading.record)
    if not num_records and not log.has(problems.ERROR):
        log.add("empty_file" if path.is_file() and path.stat().st_size == 0 else "no_records", "actual")
    final.pop(step_name or _NO_STEPS, None)
    return MetricsSummary(
        num_records=num_records,
        metric_names=tuple(sorted(final)),
        last_step=last_step,
        final_values=final,
        problems=log.problems(),
        without_value=tuple(sorted(waiting & final.keys())),
    )


def _has_value(value: Any) -> bool:
    """Whether a value is evidence of anything: not null, NaN or infinite, nor made of nothing else."""
    if isinstance(value, list | dict):
        return any(map(_has_value, value.values() if isinstance(value, dict) else value))
    return value is not None and not (isinstance(value, float) and not math.isfinite(value))


def read_series(
    path: Path,
    *,
    max_points: int | None = None,
    max_series: int | None = None,
    known: Collection[str] = (),
) -> dict[str, Series]:
    """The numbers of every metric over a run, by name, in the order of first appearance.

    About ``max_points`` are kept of each: the first and the last, the smallest and the largest of each
    stretch between, and those that are not finite; None keeps all. What is no number, or cannot be read, is
    left out. Of the names, those ``known`` are kept, and the first ones, ``max_series`` together.

    Raises:
        MetricsError: The path cannot be opened.
    """
    collected: dict[str, tuple[array[float], array[float]]] = {}
    num_new = len(known)
    step_name: str | None = None
    for position, reading in enumerate(read(sources.source_of(path))):
        if reading.record is None:
            continue
        step_name = step_name or steps.name_in(reading.record)
        step = as_float(reading.record.get(step_name or _NO_STEPS, position), otherwise=float(position))
        for name, value in reading.record.items():
            is_new = name not in collected and name not in known
            if is_new and max_series is not None and num_new >= max_series:
                continue
            number = None if name == step_name else as_float(value)
            if number is not None:
                num_new += is_new
                at, found = collected.setdefault(name, (array("d"), array("d")))
                at.append(step)
                found.append(number)
    return {name: _series(at, found, max_points=max_points) for name, (at, found) in collected.items()}


def series_of_pairs(
    pairs: Sequence[tuple[MetricsSource, MetricsSource]], *, max_points: int
) -> dict[str, list[DrawnCurve]]:
    """Metric → the curve of each side that has it, labelled ``expected`` and ``actual``.

    Of several pairs, names begin with ``file:``, as in the comparison.
    """
    found: dict[str, list[DrawnCurve]] = {}
    for pair in pairs:
        prefix = f"{pair[0].name}:" if len(pairs) > 1 else ""
        for source, label in zip(pair, ("expected", "actual"), strict=True):
            for name, series in read_series(source.path, max_points=max_points).items():
                entry = DrawnCurve(label=label, steps=series.steps, values=series.values)
                found.setdefault(prefix + name, []).append(entry)
    return found


def ignored_metrics(run_dirs: Iterable[Path], patterns: Sequence[str]) -> dict[str, str]:
    """Name → the first of the patterns that leaves this metric of some runs out of ``compare_runs``.

    Of a source that cannot be read none: the comparison of the runs says what is wrong with it.
    """
    ignored: dict[str, str] = {}
    for run_dir in run_dirs:
        for source in sources.find_all(run_dir):
            for name in names_in(source):
                for pattern in patterns:
                    if any(fnmatchcase(name, one) for one in within(pattern, source.name)):
                        ignored.setdefault(name, pattern)
    return ignored


def must_fit(found: Iterable[MetricsSource], patterns: Sequence[str], *, option: str) -> None:
    """Refuse patterns if one matches no metric of some sources; nothing where these hold no metric.

    Raises:
        UsageError: One fits none, with the nearest names.
    """
    idle, names = dict.fromkeys(patterns), dict[str, None]()
    every = list(found) if patterns else []
    several = len({source.name for source in every}) > 1
    for source in every:
        for name in _iter_names(source):
            names[f"{source.name}:{name}" if several else name] = None
            for pattern in [*idle]:
                if any(fnmatchcase(name, one) for one in within(pattern, source.name)):
                    del idle[pattern]
            if not idle:
                return
    for pattern in idle if names else ():
        raise fits_no_metric(pattern, names, option=option)


def fits_no_metric(pattern: str, names: Iterable[str], *, option: str) -> UsageError:
    """The error for a pattern that matches no metric."""
    fix = f"correct it; the nearest names: {nearest_patterns(pattern, names)}"
    return UsageError(f"no metric matches {quoted(pattern)}", where=option, fix=fix)


def names_in(source: MetricsSource) -> list[str]:
    """The names in a source, its step's too; none where it cannot be read."""
    return list(dict.fromkeys(_iter_names(source)))


def _iter_names(source: MetricsSource) -> Iterator[str]:
    """The names of each record of a source, as they are read, those of its end too."""
    known: set[str] = set()
    with suppress(MetricsError):
        for reading in read(source):
            for name in reading.record or ():
                if name not in known:
                    known.add(name)
                    yield name


def as_float(value: Any, *, otherwise: float | None = None) -> Any:
    """A number of JSON in 64 bits, infinite where it does not fit; what is none as ``otherwise``."""
    if json_values.kind(value) != "number":
        return otherwise
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _series(at: array[float], found: array[float], *, max_points: int | None) -> Series:
    numbers = np.frombuffer(found, dtype=np.float64)
    kept = _thinned(numbers, max_points=max_points)
    positions = np.frombuffer(at, dtype=np.float64)[kept].tolist()
    return Series(
        steps=[int(step) if step.is_integer() else step for step in positions],
        values=numbers[kept].tolist(),
    )


def _thinned(numbers: npt.NDArray[np.float64], *, max_points: int | None) -> npt.NDArray[np.intp]:
    """Which points to draw, in order."""
    count = len(numbers)
    if max_points is None or count <= max_points:
        return np.arange(count)
    odd = np.flatnonzero(~np.isfinite(numbers))
    if len(odd) > max_points:  # the ends of each stretch show as much
        odd = odd[(np.diff(odd, prepend=-2) > 1) | (np.diff(odd, append=count + 1) > 1)]
    kept = {0, count - 1, *odd.tolist()}
    edges = np.linspace(0, count, max(2, max_points // 2) + 1).astype(np.intp)
    for start, end in pairwise(edges):
        stretch = numbers[start:end]
        finite = np.flatnonzero(np.isfinite(stretch))
        if len(finite):
            kept.add(int(start + finite[stretch[finite].argmin()]))
            kept.add(int(start + finite[stretch[finite].argmax()]))
    return np.array(sorted(kept), dtype=np.intp)
