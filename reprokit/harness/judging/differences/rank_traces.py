"""The traces of two runs, of every rank: the first rank, update and collective that differ.

What a rank gets wrong reaches the others by the next collective. So the earliest difference is looked for: in
the first update that differs on any rank, and in it what comes first: the samples, then each collective (what
a rank gives to it before what the ranks get from it), then all else.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from reprokit.compressed import stored
from reprokit.core.checklist import TraceComparison
from reprokit.harness.judging.differences.trace_comparison import compare_traces, count_records, recorded
from reprokit.layout import RECORD, TRACE, rank_trace, traces_of
from reprokit.records import run_json

_COLLECTIVE = re.compile(r"collectives\[(\d+)\]\.(\w+)")
_LAST = 1 << 30


def compare_ranks(expected: Path, actual: Path, *, beginning: bool = False) -> TraceComparison:
    """Whether the traces of all ranks of two run folders are equal; as ``compare_traces`` of one trace.

    Where there are several ranks, ``first`` has ``rank`` and ``place`` too: where it differs, in words.

    Raises:
        ReportError: A ``run.json`` has no number of ranks that a recipe can have.
    """
    names = max(_traces_of(expected), _traces_of(actual), key=len)
    compared = {
        rank: compare_traces(expected / name, actual / name, beginning=beginning)
        for rank, name in enumerate(names)
    }
    first = compared[0]
    if len(names) == 1:
        return first
    for rank, name in enumerate(names):
        for folder in (expected, actual):
            if not stored(folder / name).is_file():
                return _without(rank, f"rank {rank} of {folder} left no {name}", first)
        if not beginning and count_records(expected / name) != count_records(expected / TRACE):
            what = f"rank {rank} of {expected} did not trace as many updates as rank 0"
            return _without(rank, what, first)
    differing = {rank: one for rank, one in compared.items() if not one.equal}
    if not differing:
        return first
    rank = min(differing, key=lambda one: (compared[one].records_compared, _stage(compared[one]), one))
    found = differing[rank]
    record = next(islice(recorded(expected / names[rank]), found.records_compared - 1, None), {})
    difference = {**(found.first or {}), "rank": rank, "place": _place(rank, record, found.first or {})}
    return TraceComparison(equal=False, records_compared=found.records_compared, first=difference)


def _traces_of(folder: Path) -> tuple[str, ...]:
    """The names of the traces that a run must have, or has."""
    there = 1
    while stored(folder / rank_trace(there)).is_file():
        there += 1
    there_are = (TRACE, *map(rank_trace, range(1, there)))
    return max(traces_of(_world_size(folder)), there_are, key=len)


def _without(rank: int, what: str, compared: TraceComparison) -> TraceComparison:
    first = {"step": None, "what": "record", "expected": None, "actual": None, "rank": rank, "place": what}
    return TraceComparison(equal=False, records_compared=max(1, compared.records_compared), first=first)


def _stage(found: TraceComparison) -> int:
    """Where in an update a difference is, in the order in which things happen."""
    what = str((found.first or {}).get("what"))
    if what.startswith("samples"):
        return 0
    collective = _COLLECTIVE.match(what)
    if collective is None:
        return _LAST
    return 1 + 2 * int(collective[1]) + (collective[2] == "received")


def _world_size(folder: Path) -> int:
    return run_json.read(folder).world_size if (folder / RECORD).is_file() else 1


def _place(rank: int, record: Mapping[str, Any], first: Mapping[str, Any]) -> str:
    place, what = f"rank {rank}, update {record.get('update')}", str(first.get("what"))
    collective = _COLLECTIVE.match(what)
    if collective is None:
        return f"{place}: {what}"
    number = int(collective[1])
    made = record.get("collectives") or []
    name = made[number].get("name") if number < len(made) else None
    words = {
        "sent": f"what it gives to the collective {name}",
        "received": f"what it gets from the collective {name}",
    }
    other = f"its collective {number + 1} is {first.get('expected')!r} and {first.get('actual')!r}"
    return f"{place}: {words.get(collective[2], other)}"
