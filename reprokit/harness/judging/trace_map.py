"""Which tensors of two traces differ in which update, around the first update that does."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from reprokit.core.records import named_leaves
from reprokit.core.report_parts import TraceMap, TraceRow
from reprokit.harness.judging.differences.trace_comparison import streamed
from reprokit.layout import TRACE

_BEFORE, _AFTER, _MOST_ROWS = 10, 49, 40
_OF_THE_RECORD = {"update", "step"}

Leaves = Mapping[str, Any]


def trace_map(sides: tuple[Path, Path] | None) -> TraceMap | None:
    """The map of two folders' traces; None where one has none, or no update of both differs.

    A golden's trace holds some updates only: those are compared that both have.
    """
    if sides is None:
        return None
    pairs = list(_around_first(_pairs(*(streamed(side / TRACE) for side in sides))))
    first = next((at for at, (_, ours, theirs) in enumerate(pairs) if _differing(ours, theirs)), None)
    if first is None:
        return None
    names = dict.fromkeys(name for _, ours, theirs in pairs[first:] for name in _differing(ours, theirs))
    every = {name for _, ours, theirs in pairs for name in (*ours, *theirs)}
    shown = list(names)[:_MOST_ROWS]
    return TraceMap(
        updates=tuple(update for update, _, _ in pairs),
        first=first,
        rows=tuple(TraceRow(name=name, cells=_cells(name, pairs)) for name in shown),
        num_cut=len(names) - len(shown),
        num_equal=len(every) - len(names),
    )


def _pairs(
    expected: Iterable[Mapping[str, Any]], actual: Iterable[Mapping[str, Any]]
) -> Iterator[tuple[int, Leaves, Leaves]]:
    """The updates that both have, in order, with what each recorded."""
    theirs = _numbered(actual)
    number, other = next(theirs, (None, {}))
    for update, record in _numbered(expected):
        while number is not None and number < update:
            number, other = next(theirs, (None, {}))
        if number == update:
            yield update, _leaves(record), _leaves(other)


def _numbered(records: Iterable[Mapping[str, Any]]) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for record in records:
        if isinstance(update := record.get("update"), int):
            yield update, record


def _leaves(record: Mapping[str, Any]) -> Leaves:
    return {name: value for name, value in named_leaves(record) if name not in _OF_THE_RECORD}


def _around_first(pairs: Iterable[tuple[int, Leaves, Leaves]]) -> Iterator[tuple[int, Leaves, Leaves]]:
    """Some updates before the first that differs, it, and some after it; none where none differs."""
    before: deque[tuple[int, Leaves, Leaves]] = deque(maxlen=_BEFORE)
    rest = iter(pairs)
    for pair in rest:
        if _differing(pair[1], pair[2]):
            yield from (*before, pair)
            yield from islice(rest, _AFTER)
            return
        before.append(pair)


def _differing(ours: Leaves, theirs: Leaves) -> list[str]:
    names = dict.fromkeys((*ours, *theirs))
    return [name for name in names if _cell(name, ours, theirs) == "x"]


def _cell(name: str, ours: Leaves, theirs: Leaves) -> str:
    if name not in ours and name not in theirs:
        return "-"
    both = name in ours and name in theirs
    one, other = ours.get(name), theirs.get(name)
    return "=" if both and type(one) is type(other) and one == other else "x"


def _cells(name: str, pairs: Iterable[tuple[int, Leaves, Leaves]]) -> str:
    return "".join(_cell(name, ours, theirs) for _, ours, theirs in pairs)
