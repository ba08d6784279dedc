"""Two traces compared, as lines: where they first differ, and which lines drew different values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from reprokit.core.evidence import TraceComparison
from reprokit.core.verdicts.rows import counted
from reprokit.reports.tables import shown

if TYPE_CHECKING:
    from reprokit.diagnosis import Began, Operation, Site


def recorded_lines(found: TraceComparison) -> Iterator[str]:
    """The digests of updates that the trainers of two recipes' runs wrote themselves."""
    if found.first is None:
        yield f"{found.records_compared} updates: all equal"
        return
    place = shown(str(found.first.get("place") or found.first["what"]))
    if found.first["step"] is None:
        yield f"differ: {place}"
        return
    yield f"first differs at step {found.first['step']}, in {place}"
    yield f"  {shown(str(found.first['expected']))} and {shown(str(found.first['actual']))}"
    sample = found.first.get("sample")
    if isinstance(sample, Mapping):
        yield f"first wrong sample: {shown(str(sample['told']))}"


def page_lines(
    *,
    began: Began | None,
    events: Sequence[Mapping[str, int]],
    operation: Operation | None,
    drew: Sequence[tuple[str, Site]],
    num_sites: int,
) -> Iterator[str]:
    """What `reprokit diagnose` recorded of two runs: where they first differ, and the lines that do.

    ``events``: of each run, process → number of training events; ``num_sites``: how many lines drew values.
    """
    counts = [sum(event.values()) for event in events]
    if began is not None:
        exactly = "" if began.single else " or before"
        yield f"first differs at {began.place}{exactly}, in {shown(began.what_differs)}"
        yield f"  still equal just before: {shown(began.equal_before or 'nothing that was recorded')}"
    elif events[0] != events[1]:
        yield f"the first run recorded {counted(counts[0], 'training event')}, the second {counts[1]}"
    elif events[0]:
        yield f"{counted(counts[0], 'training event')}: all equal"
    else:
        yield "no training event was recorded"
    if operation is not None:
        place = f"{shown(operation.file)}:{operation.line}"
        yield f"operation {operation.number}: {shown(operation.name)} at {place}"
        if (beside := operation.beside) is not None:
            place = f"{shown(beside.file)}:{beside.line}"
            yield f"  nothing makes it wait for {shown(beside.name)} at {place}, on stream {beside.stream}"
    for category, site in drew:
        what = f"  {shown(site.what)}" if site.what else ""
        yield f"{category:<22}{shown(site.file)}:{site.line}  {site.count} times{what}"
    yield f"{len(drew)} of {num_sites} lines drew different values"
