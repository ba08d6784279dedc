"""Two sources of metrics compared, whatever their format."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any

from reprokit.adapters import from_json, from_jsonl, sources
from reprokit.adapters.reading import MetricsSource, Reading, open_file
from reprokit.core import problems
from reprokit.core.comparing import clock_metrics, means
from reprokit.core.comparing.comparer import Comparer
from reprokit.core.comparing.difference import Comparison
from reprokit.core.comparing.metric_names import Selection
from reprokit.core.problems import ProblemLog
from reprokit.core.texts import Placeholders
from reprokit.core.tolerance import Tolerances
from reprokit.errors import MetricsError

_SIDES = ("expected", "actual")
_BLOCK_BYTES = 1 << 20
#: How much of two differing files together is looked at for records in another order.
_MOST_SORTED_BYTES = 16 << 20
#: Differences that another order of records brings.
_OF_ORDER = frozenset(
    {
        *(
            "duplicate_step",
            "reordered_step",
            "skipped_step",
            "step_changed",
            "changed_type",
            "missing_metric",
        ),
        *("changed_structure", "extra_metric", "renamed_metric", "nan_placement", "infinity_placement"),
    }
)


def compare(
    expected: Path,
    actual: Path,
    *,
    tolerances: Tolerances | None = None,
    metrics: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
) -> Comparison:
    """Compare two metrics files; who reads them follows from their names.

    ``tolerances`` are exact by default, ``metrics`` None is all; ``ignore`` has ``fnmatch`` patterns of names
    to leave out, and each name left out is reported.

    Raises:
        MetricsError: A path cannot be opened as a file, or the formats differ. Whatever is wrong
            inside a file is a problem of the comparison instead.
    """
    pair = sources.source_of(expected), sources.source_of(actual)
    return compare_sources(*pair, tolerances=tolerances, metrics=metrics, ignore=ignore)


def compare_first(
    expected: Path,
    actual: Path,
    *,
    records: int | None = None,
    tolerances: Tolerances | None = None,
    metrics: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
) -> Comparison:
    """Compare the first records of two JSON Lines files; how either continues is not looked at.

    ``records`` None is as many as both have whole. A metric whose means are judged (``mean_of``) does not
    differ here, unless it is not a finite number.

    Raises:
        MetricsError: A path cannot be opened as a file.
    """
    sides = expected, actual
    number = min(map(whole_records, sides)) if records is None else records
    granted = means.AnyNumber(granted=tolerances or Tolerances())
    comparer = Comparer(tolerances=granted, metrics=metrics, ignore=ignore)
    left, right = (islice(from_jsonl.read(path), number) for path in sides)
    _compare_readings(left, right, comparer)
    return comparer.finish()


def whole_records(path: Path) -> int:
    """Lines of a JSON Lines file that were written to their end: a killed program may leave a torn one.

    Raises:
        MetricsError: The path cannot be opened as a file.
    """
    with os.fdopen(open_file(path), "rb") as stream:
        stream.seek(0)  # of a compressed file that was just unpacked
        return sum(block.count(b"\n") for block in iter(lambda: stream.read(_BLOCK_BYTES), b""))


def compare_sources(
    expected: MetricsSource,
    actual: MetricsSource,
    *,
    tolerances: Tolerances | None = None,
    metrics: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    placeholders: Placeholders | None = None,
) -> Comparison:
    """Compare two sources of one format, as ``compare`` does; texts with placeholders for the runs' paths."""
    expected, actual = _alike(expected, actual)
    if expected.adapter != actual.adapter:
        raise MetricsError(
            "two formats cannot be compared with each other",
            where=str(actual.path),
            expected=expected.adapter,
            actual=actual.adapter,
            fix="compare files of one format",
        )
    granted = tolerances or Tolerances()
    how: dict[str, Any] = {"metrics": metrics, "ignore": ignore, "placeholders": placeholders}
    how["tolerances"] = means.AnyNumber(granted=granted)
    if expected.adapter == from_jsonl.NAME:
        comparison = from_jsonl.compare(expected.path, actual.path, **how)
    else:
        comparer = Comparer(**how)
        read = sources.adapter_named(expected.adapter).read
        _compare_readings(read(expected.path), read(actual.path), comparer)
        comparison = comparer.finish()
    judged = means.judge(comparison, _records(expected), _records(actual), tolerances=granted)
    return _told_of_order(judged, expected, actual, Selection(ProblemLog(), metrics=metrics, ignore=ignore))


def _alike(expected: MetricsSource, actual: MetricsSource) -> tuple[MetricsSource, MetricsSource]:
    """The sources with one reader where a short one does not show which: it is empty, or one record."""
    forms = {expected.adapter, actual.adapter}
    if forms == {from_json.NAME, from_jsonl.NAME}:
        return replace(expected, adapter=from_jsonl.NAME), replace(actual, adapter=from_jsonl.NAME)
    is_empty = [side.path.is_file() and not side.path.stat().st_size for side in (expected, actual)]
    if len(forms) > 1 and any(is_empty):
        form = (expected if is_empty[1] else actual).adapter
        return replace(expected, adapter=form), replace(actual, adapter=form)
    return expected, actual


def _told_of_order(
    comparison: Comparison, expected: MetricsSource, actual: MetricsSource, selection: Selection
) -> Comparison:
    """Say of sides that differ whether they hold the same records in another order."""
    if not comparison.comparable or comparison.within_tolerance:
        return comparison
    if any(
        problem.severity == problems.DIFFERENCE and problem.kind not in _OF_ORDER
        for problem in comparison.problems
    ):
        return comparison
    if (
        sum(side.path.stat().st_size for side in (expected, actual) if side.path.is_file())
        > _MOST_SORTED_BYTES
    ):
        return comparison
    log = ProblemLog()
    for detail in ("", "except for clocks"):
        try:
            one, other = (list(_keys(side, selection, clocks=not detail)) for side in (expected, actual))
        except ValueError:  # an integer longer than Python writes as text
            return comparison
        if one == other:
            break  # in one order: only clocks differ
        if Counter(one) == Counter(other):
            log.add("other_order", problems.BOTH, detail=detail)
            break
    return replace(comparison, problems=(*comparison.problems, *log.problems()))


def _keys(source: MetricsSource, selection: Selection, *, clocks: bool) -> Iterator[str]:
    """What is compared of each record, as a text, with or without ``clocks``; the step counts too."""
    for record in _records(source):
        wanted = {name: value for name, value in record.items() if selection.wants(name)}
        kept = {name: wanted[name] for name in wanted if clocks or not clock_metrics.kind_by_name(name)}
        yield json.dumps(kept, sort_keys=True)


def _records(source: MetricsSource) -> Iterator[Mapping[str, Any]]:
    """The records of a source, read when they are asked for."""
    for reading in sources.adapter_named(source.adapter).read(source.path):
        if reading.record is not None:
            yield reading.record


def _compare_readings(expected: Iterable[Reading], actual: Iterable[Reading], comparer: Comparer) -> None:
    """Go through two sources record by record, for formats without a quicker way."""
    counts = dict.fromkeys(_SIDES, 0)
    unpaired: Reading | None = None
    for pair in zip_longest(expected, actual):
        for reading, side in zip(pair, _SIDES, strict=True):
            counts[side] += _note(reading, side, comparer)
        left, right = pair
        if left is None or right is None:
            unpaired = unpaired or left or right
        elif left.record is None or right.record is None:
            comparer.unreadable()
        else:
            comparer.add(left.record, right.record, lines=(left.line, right.line))
    if not comparer.log.has(problems.ERROR):
        for side in (side for side in _SIDES if not counts[side]):
            comparer.log.add("no_records", side)
    num_expected, num_actual = counts.values()
    if num_expected != num_actual:
        record, line = (unpaired.record, unpaired.line) if unpaired else (None, None)
        comparer.end(num_expected=num_expected, num_actual=num_actual, record=record, lines=(line, line))


def _note(reading: Reading | None, side: str, comparer: Comparer) -> bool:
    """Log what is odd about a record; whether there is one."""
    if reading is None:
        return False
    for kind, detail in reading.notes:
        comparer.log.add(kind, side, line=reading.line, detail=detail)
    return reading.record is not None
