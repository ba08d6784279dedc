"""Two traces compared update by update: digests of parameters, random states and whatever else they hold."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from reprokit.compressed import open_stored, stored
from reprokit.core.checklist import TraceComparison
from reprokit.core.records import named_leaves
from reprokit.core.sampling.samples import first_wrong_sample

_NEVER_RECORDED = object()


def compare_traces(
    expected: Path, actual: Path, *, thinned: bool = False, beginning: bool = False
) -> TraceComparison:
    """Whether every record of two traces was found and equal; an unreadable line is a difference.

    With ``thinned``, each update of ``expected`` must be in ``actual``, which may hold more. With
    ``beginning``, only the first records are compared, as many as both traces have whole.
    """
    theirs = _records(actual, whole=beginning)
    compared = 0
    for index, record in enumerate(_records(expected, whole=beginning)):
        other = next(theirs, None)
        if beginning and other is None:
            break
        while thinned and other is not None and other.get("update") != record.get("update"):
            other = next(theirs, None)
        first = first_difference(record, other)
        if first is not None:
            first |= sample_difference(_records(expected, whole=beginning), _records(actual, whole=beginning))
            return TraceComparison(equal=False, records_compared=index + 1, first=first)
        compared = index + 1
    extra = None if thinned or beginning else next(theirs, None)
    if extra is not None:
        first = {"step": extra.get("step"), "what": "record", "expected": None, "actual": "one more record"}
        return TraceComparison(equal=False, records_compared=compared + 1, first=first)
    return TraceComparison(equal=True, records_compared=compared)


def sample_difference(
    expected: Iterable[Mapping[str, Any]], actual: Iterable[Mapping[str, Any]]
) -> dict[str, Any]:
    """``sample``: where the ledgers of two traces first differ; empty where they do not."""
    try:
        found = first_wrong_sample(expected, actual)
    except ValueError as error:
        return {"sample": {"how": "damaged", "told": f"the ledger of samples is damaged: {error}"}}
    return {} if found is None else {"sample": found.as_data()}


def recorded(trace: Path) -> list[Mapping[str, Any]]:
    """Every record of a trace; empty when there is none."""
    return list(_records(trace))


def streamed(trace: Path) -> Iterator[Mapping[str, Any]]:
    """As ``recorded``, one after the other: a trace may be larger than memory."""
    return _records(trace)


def update_steps(trace: Path) -> tuple[int, ...]:
    """Steps at which an update ended, in the order of the trace."""
    return tuple(step for record in _records(trace) if isinstance(step := record.get("step"), int))


def count_records(trace: Path) -> int:
    """How many lines a trace or metrics file has; 0 when there is none."""
    return sum(1 for _ in _records(trace))


def _records(path: Path, *, whole: bool = False) -> Iterator[Mapping[str, Any]]:
    """The records of a trace; with ``whole`` without a last one that was not written to its end."""
    if not stored(path).is_file():
        return
    with open_stored(path) as stream:
        for number, line in enumerate(stream, start=1):
            if whole and not line.endswith(b"\n"):
                return
            try:
                value = json.loads(line)
            except (ValueError, RecursionError):
                value = None
            yield value if isinstance(value, dict) else {"unreadable line": f"{path}:{number}"}


def first_difference(record: Mapping[str, Any], other: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Where two records differ first: ``step``, ``what``, ``expected``, ``actual``; None when equal."""
    if other is None:
        return {"step": record.get("step"), "what": "record", "expected": "a record", "actual": None}
    ours, theirs = dict(named_leaves(record)), dict(named_leaves(other))
    for name in [*ours, *(name for name in theirs if name not in ours)]:
        expected, actual = ours.get(name, _NEVER_RECORDED), theirs.get(name, _NEVER_RECORDED)
        if type(expected) is not type(actual) or expected != actual or name == "unreadable line":
            return {
                "step": record.get("step"),
                "what": name,
                "expected": None if expected is _NEVER_RECORDED else expected,
                "actual": None if actual is _NEVER_RECORDED else actual,
            }
    return None
