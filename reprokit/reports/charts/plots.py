"""What a plot over seeds is made of: bands, curves, dots, intervals, marked values, crosses for no number.

``templates/plots.html.jinja`` draws every plot from these. Lengths are in the plot's own units, the vertical
axis pointing down.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import numpy.typing as npt

from reprokit.reports.charts.axes import CHARACTER, LABEL_GAP, Axis, Tick, finite, nice, padded, tick_labels
from reprokit.reports.escaping import Visible, one_line

Point = tuple[float, float]
Numbers = npt.NDArray[np.float64]

WIDTH = 480.0
TOP, RIGHT, BOTTOM = 12.0, 16.0, 48.0
#: Next to the plot, where values that are no numbers are marked.
STRIP = 26.0
_NO_LABEL = Visible("")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """One value at (x, y); ``kind`` is its colour, ``shape`` a dot, a mean or a cross for no number."""

    x: float
    y: float
    kind: str
    shape: str
    told: Visible


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A horizontal interval."""

    left: float
    right: float
    y: float
    kind: str
    told: Visible


@dataclass(frozen=True, slots=True, kw_only=True)
class PlotLine:
    """A line through points, or the outline of a band, in pieces between gaps."""

    kind: str
    pieces: tuple[str, ...]
    told: Visible


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedValue:
    """A marked value: a line across the plot, vertical or horizontal, with its name next to it."""

    at: float
    is_vertical: bool
    kind: str
    label: Visible = _NO_LABEL
    label_before: bool = False
    label_below: bool = False  # of a vertical rule: at its foot, where curves leave room


@dataclass(frozen=True, slots=True, kw_only=True)
class Area:
    """A shaded stretch of the horizontal axis."""

    left: float
    width: float
    told: Visible


@dataclass(frozen=True, slots=True, kw_only=True)
class RowLabel:
    """The name of a row of dots, above them."""

    y: float
    text: Visible


@dataclass(frozen=True, slots=True, kw_only=True)
class LegendEntry:
    """What a colour stands for: a line, or dots that no line connects."""

    label: Visible
    kind: str
    is_dot: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """A figure, ready to be drawn.

    ``notes`` are sentences below it; ``data`` are the numbers behind a curve, for the script of the page.
    """

    title: Visible
    across: Visible
    height: float
    left: float
    right: float
    top: float
    bottom: float
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...] = ()
    areas: tuple[Area, ...] = ()
    bands: tuple[PlotLine, ...] = ()
    lines: tuple[PlotLine, ...] = ()
    spans: tuple[Span, ...] = ()
    marks: tuple[Mark, ...] = ()
    rules: tuple[MarkedValue, ...] = ()
    rows: tuple[RowLabel, ...] = ()
    legend: tuple[LegendEntry, ...] = ()
    notes: tuple[Visible, ...] = ()
    data: Visible = _NO_LABEL
    summary: Visible


def room_for_labels(low: float, high: float) -> float:
    """How much of the width the labels of a vertical axis take."""
    return round(LABEL_GAP + CHARACTER * max(map(len, tick_labels(nice(low, high)))), 1)


def limits_of(values: Sequence[float | None]) -> tuple[float, float]:
    """The limits of an axis that shows these values; those that are no finite numbers are left out."""
    numbers = [number for value in values if (number := finite(value)) is not None]
    return padded(min(numbers), max(numbers)) if numbers else (0.0, 1.0)


def traced(
    steps: Sequence[float] | Numbers,
    values: Sequence[float] | Numbers,
    across: Axis,
    up: Axis,
    *,
    kind: str,
    told: str,
) -> tuple[PlotLine, tuple[Mark, ...]]:
    """A line in pieces between gaps, and dots for the points that stand alone."""
    pieces = list(_between_gaps(steps, values, across, up))
    label = one_line(told, limit=120)
    line = PlotLine(kind=kind, pieces=tuple(_path(piece) for piece in pieces if len(piece) > 1), told=label)
    alone = [piece[0] for piece in pieces if len(piece) == 1]
    return line, tuple(Mark(x=x, y=y, kind=kind, shape="dot", told=label) for x, y in alone)


def outlined(steps: Numbers, low: Numbers, high: Numbers, across: Axis, up: Axis, *, kind: str) -> PlotLine:
    """The outline of a band; a gap where it has no limits."""
    below, above = (_between_gaps(steps, end, across, up) for end in (low, high))
    pairs = [(one, other) for one, other in zip(below, above, strict=True) if len(one) > 1]
    pieces = tuple(_path([*one, *reversed(other)]) for one, other in pairs)
    return PlotLine(kind=kind, pieces=pieces, told=Visible(""))


def _between_gaps(
    steps: Sequence[float] | Numbers, values: Sequence[float] | Numbers, across: Axis, up: Axis
) -> Iterator[list[Point]]:
    numbers = ((finite(float(x)), finite(float(y))) for x, y in zip(steps, values, strict=True))
    placed = (None if x is None or y is None else (across.at(x), up.at(y)) for x, y in numbers)
    for is_gap, group in groupby(placed, key=lambda place: place is None):
        if not is_gap:
            yield [place for place in group if place is not None]


def _path(points: Sequence[Point]) -> str:
    return " ".join(f"{x:g},{y:g}" for x, y in points)
