"""The answer of `reprokit diagnose --across` as lines: how two runs on two machines differ."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reprokit.reports.tables import shown

_MOST = 12


def page_lines(found: Any) -> Iterator[str]:
    """Where the two runs of an ``Across`` first differ, and what differs between the machines."""
    yield _headline(found)
    if found.began is not None:
        yield f"  first event that differs: {found.began.place}, {shown(found.began.what_differs)}"
    if found.update is not None:
        at, groups = found.update["update"], ", ".join(map(str, found.update["groups"]))
        yield f"  first record of the trace that differs: update {at}, {shown(groups)}"
    yield from (f"  known: {shown(sentence)}" for sentence in found.says)
    if found.environment:
        yield "What differs between the machines and can change numbers:"
    for entry in found.environment[:_MOST]:
        values = f"{shown(str(entry['expected']))[:60]} and {shown(str(entry['actual']))[:60]}"
        field = f"{entry['can_change_numbers']:<6}{shown(str(entry['field']))}"
        yield f"  {field}: {values} ({shown(str(entry['why']))})"
    if len(found.environment) > _MOST:
        yield f"  {len(found.environment) - _MOST} more (--json has all)"
    if found.num_harmless:
        yield f"{found.num_harmless} more fields differ that cannot change numbers: see reprokit env diff"


def _headline(found: Any) -> str:
    if found.verdict == "REPEATABLE":
        return "REPEATABLE: the two runs are equal, bit for bit"
    first = found.comparison.divergence
    if first is None or first.metric is None:
        return "NONDETERMINISTIC: the two runs differ"
    place = f"{first.place} on, in {shown(str(first.metric))}"
    return f"NONDETERMINISTIC: the runs differ from {place} ({first.expected} and {first.actual})"
