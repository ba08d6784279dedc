"""The map of two traces as strips: a row a tensor, along it the updates that are equal and that differ."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from reprokit.core.report_parts import TraceMap
from reprokit.reports.escaping import Visible, one_line, shortened

_WORDS = {"=": "equal", "x": "differs", "-": "not recorded"}
_KINDS = {"=": "same", "x": "apart", "-": "none"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """Neighbouring updates of one kind: ``same``, ``apart`` or ``none``."""

    at: int
    width: int
    kind: str
    told: Visible


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatRow:
    """One tensor or state over the updates; ``is_first`` where it is the first of all to differ."""

    name: Visible
    is_first: bool
    stretches: tuple[Stretch, ...]
    summary: Visible


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceHeat:
    """The map, ready to be drawn; ``first`` is the place of the first update that differs."""

    num_updates: int
    first: int
    span: Visible
    first_update: Visible
    rows: tuple[HeatRow, ...]
    num_cut: int
    num_equal: int


def trace_heat(found: TraceMap | None) -> TraceHeat | None:
    """The map of a report, escaped; None where it has none that can be drawn."""
    if found is None or not found.updates or not 0 <= found.first < len(found.updates):
        return None
    rows: list[HeatRow] = []
    for row in found.rows:
        stretches = tuple(_stretches(row.cells[: len(found.updates)], found.updates))
        told = "; ".join(one.told for one in stretches)
        rows.append(
            HeatRow(
                name=shortened(row.name, width=60),
                is_first=not rows,
                stretches=stretches,
                summary=one_line(f"{row.name}: {told}", limit=600),
            )
        )
    return TraceHeat(
        num_updates=len(found.updates),
        first=found.first,
        span=Visible(_span(found.updates[0], found.updates[-1])),
        first_update=Visible(f"{found.updates[found.first]:,}"),
        rows=tuple(rows),
        num_cut=found.num_cut,
        num_equal=found.num_equal,
    )


def _stretches(cells: str, updates: tuple[int, ...]) -> Iterator[Stretch]:
    at = 0
    for cell, group in groupby(cells):
        width = len(list(group))
        told = f"{_span(updates[at], updates[at + width - 1])} {_WORDS.get(cell, 'unknown')}"
        yield Stretch(at=at, width=width, kind=_KINDS.get(cell, "none"), told=Visible(told))
        at += width


def _span(low: int, high: int) -> str:
    return f"update {low:,}" if low == high else f"updates {low:,} to {high:,}"
