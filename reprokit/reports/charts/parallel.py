"""Parallel coordinates: a line for each run or trial across the settings that differ, to what it came to.

``templates/parallel.html.jinja`` draws them. Lengths are in the chart's own units, the vertical axis
pointing down.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from reprokit.reports.charts.axes import CHARACTER, Axis, Tick
from reprokit.reports.escaping import Visible, one_line, shortened

WIDTH, HEIGHT = 960.0, 300.0
MOST_SETTINGS = 8
_SIDE, _TOP, _BOTTOM = 110.0, 20.0, 60.0
_LOW_NAME, _NAME_ROW = 22.0, 17.0
_TICK_HEIGHT, _LONGEST_TICK = 15.0, 14
_SHADES = ("faint", "run-4", "run-0", "golden")  # of the quarters, the best last


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One axis to be drawn: a height from 0 to 1 for each line, and labels at some heights."""

    name: str
    heights: tuple[float, ...]
    labels: tuple[tuple[float, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ParallelAxis:
    """One axis; ``name`` stands at ``name_at``, ``whole_name`` in its title."""

    x: float
    name: Visible
    whole_name: Visible
    name_at: float
    ticks: tuple[Tick, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ParallelLine:
    """One run or trial: its points, its shade, and what it is."""

    points: str
    shade: str
    told: Visible


@dataclass(frozen=True, slots=True, kw_only=True)
class Parallel:
    """The axes from ``top`` to ``bottom``, and the lines, the best on top; ``notes`` are sentences below."""

    axes: tuple[ParallelAxis, ...]
    lines: tuple[ParallelLine, ...]
    notes: tuple[Visible, ...] = ()
    top: float = _TOP
    bottom: float = HEIGHT - _BOTTOM


def parallel(
    columns: Sequence[Column], told: Sequence[str], *, order: Sequence[int], notes: Sequence[str] = ()
) -> Parallel:
    """The chart of some columns, the last of which is the result.

    Args:
        columns: The axes from left to right.
        told: What each line is.
        order: The lines, the worst first.
        notes: What is not drawn, and why.
    """
    up = Axis(low=0.0, high=1.0, start=HEIGHT - _BOTTOM, end=_TOP)
    apart = (WIDTH - 2 * _SIDE) / max(1, len(columns) - 1)
    xs = [round(_SIDE + at * apart, 1) for at in range(len(columns))]
    return Parallel(
        axes=tuple(_axes(columns, xs, up, apart=apart)),
        lines=tuple(
            ParallelLine(
                points=" ".join(
                    f"{x:g},{up.at(column.heights[at]):g}" for x, column in zip(xs, columns, strict=True)
                ),
                shade=_SHADES[rank * len(_SHADES) // len(order)],
                told=one_line(told[at], limit=400),
            )
            for rank, at in enumerate(order)
        ),
        notes=tuple(map(one_line, notes)),
    )


def heights_between(values: Sequence[float]) -> tuple[float, ...]:
    """Numbers as heights, the smallest at 0 and the largest at 1; equal ones in the middle."""
    axis = Axis(low=min(values), high=max(values), start=0.0, end=1e6)
    return tuple(axis.at(value) / 1e6 for value in values)


def _axes(
    columns: Sequence[Column], xs: Sequence[float], up: Axis, *, apart: float
) -> Iterator[ParallelAxis]:
    """Names that are wider than what an axis has stand in two rows by turns."""
    widest = max((len(column.name) for column in columns), default=0) * CHARACTER
    rows = 1 if widest < apart else 2
    room = int(min(2 * _SIDE, rows * apart) / CHARACTER) - 1
    for number, (column, x) in enumerate(zip(columns, xs, strict=True)):
        yield ParallelAxis(
            x=x,
            name=shortened(column.name, width=room),
            whole_name=one_line(column.name),
            name_at=HEIGHT - _BOTTOM + _LOW_NAME + number % rows * _NAME_ROW,
            ticks=tuple(_ticks(column, up, apart=apart)),
        )


def _ticks(column: Column, up: Axis, *, apart: float) -> Iterator[Tick]:
    """As many labels as stand one above the other, each as long as there is room beside the axis."""
    stride = max(1, math.ceil(len(column.labels) * _TICK_HEIGHT / abs(up.end - up.start)))
    width = max(4, min(_LONGEST_TICK, int((apart - 8) / CHARACTER)))
    for at, label in column.labels[::stride]:
        yield Tick(at=up.at(at), label=shortened(label, width=width))
