"""Learning curves as geometry: where lines, ticks and the divergence go on a chart.

Lengths are in the chart's own units, the vertical axis pointing down; SVG and HTML scale them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from reprokit.core.checklist import Report
from reprokit.core.comparing.difference import Divergence
from reprokit.core.report_parts import DrawnCurve
from reprokit.reports.charts.axes import CHARACTER, LABEL_GAP, Axis, Tick, finite, nice, padded, tick_labels
from reprokit.reports.charts.chart_data import DataLine, chart_data
from reprokit.reports.escaping import Visible, one_line, shortened
from reprokit.reports.format_values import value_text

WIDTH = 480.0
HEIGHT = 250.0

_TOP, _RIGHT, _BOTTOM = 12.0, 16.0, 48.0
_MAX_CHARTS = 48
_NUM_COLOURS = 6
_MAX_STOPS = 64

Point = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveLine:
    """One series, ``golden`` or ``run-0``, …: its pieces between gaps, and the points that stand alone."""

    label: Visible
    kind: str
    pieces: tuple[str, ...]
    dots: tuple[Point, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Marker:
    """The step of the first divergence."""

    at: float
    label: Visible
    label_before: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """The exact values of every series at one step, shown while a pointer is over the stretch around it."""

    left: float
    width: float
    told: Visible


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """One metric over the steps."""

    metric: Visible
    diverged: bool
    left: float
    right: float
    top: float
    bottom: float
    lines: tuple[CurveLine, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    marker: Marker | None
    stops: tuple[Stop, ...]
    summary: Visible
    data: Visible


@dataclass(frozen=True, slots=True, kw_only=True)
class Charts:
    """All charts, the metric that diverged first, and the legend that they share."""

    shown: tuple[Chart, ...]
    num_cut: int
    num_single: int  # metrics with one record only, which have no curve
    legend: tuple[CurveLine, ...]


def charts(report: Report) -> Charts:
    """Charts of every metric that has at least one number to draw."""
    return charts_of(report.curves, report.divergence)


def charts_of(curves: Mapping[str, Sequence[DrawnCurve]], divergence: Divergence | None) -> Charts:
    """As ``charts``, from the parts of a report that it needs."""
    diverged = divergence.metric if divergence else None
    names = sorted(curves, key=lambda name: name != diverged)
    drawn = [
        chart
        for name in names
        if (chart := _chart(name, curves[name], divergence, is_diverged=name == diverged))
    ]
    legend = {line.label: line for chart in drawn for line in chart.lines}
    return Charts(
        shown=tuple(drawn[:_MAX_CHARTS]),
        num_cut=max(0, len(drawn) - _MAX_CHARTS),
        num_single=sum(map(_has_one_step, curves.values())),
        legend=tuple(legend.values()),
    )


def _chart(
    metric: str,
    series: Sequence[DrawnCurve],
    divergence: Divergence | None,
    *,
    is_diverged: bool,
) -> Chart | None:
    points = [_points(one.steps, one.values) for one in series]
    known = [point for one in points for point in one if point is not None]
    if not known or _has_one_step(series):
        return None
    steps, values = [x for x, _ in known], [y for _, y in known]
    low, high = padded(min(values), max(values))
    labels = tick_labels(nice(low, high))
    left = round(LABEL_GAP + CHARACTER * max(map(len, labels)), 1)
    across = Axis(
        low=min(steps),
        high=max(steps),
        start=left,
        end=WIDTH - _RIGHT,
        is_whole=all(step % 1 == 0 for step in steps),
    )
    kinds = _kinds(series)
    marked = finite(divergence.step) if divergence else None
    up = Axis(low=low, high=high, start=HEIGHT - _BOTTOM, end=_TOP)
    return Chart(
        metric=one_line(metric),
        diverged=is_diverged,
        left=left,
        right=across.end,
        top=_TOP,
        bottom=up.start,
        lines=_lines(series, points, across, up, kinds=kinds),
        x_ticks=across.ticks(),
        y_ticks=up.ticks(),
        marker=_marker(divergence, across),
        stops=_stops(series, across),
        summary=_summary(metric, series),
        data=chart_data(
            [DataLine(kind=kind, curve=one) for kind, one in _golden_first(zip(kinds, series, strict=True))],
            marked=marked,
        ),
    )


def _kinds(series: Sequence[DrawnCurve]) -> list[str]:
    kinds: list[str] = []
    for one in series:
        num_runs = sum(kind != "golden" for kind in kinds)
        kinds.append("golden" if one.label.startswith("golden") else f"run-{num_runs % _NUM_COLOURS}")
    return kinds


def _golden_first(series: Iterable[tuple[str, DrawnCurve]]) -> list[tuple[str, DrawnCurve]]:
    """So that the runs are drawn on top of it, and differences are those from it."""
    return sorted(series, key=lambda one: one[0] != "golden")


def _lines(
    series: Sequence[DrawnCurve],
    points: Sequence[Sequence[Point | None]],
    across: Axis,
    up: Axis,
    *,
    kinds: Sequence[str],
) -> tuple[CurveLine, ...]:
    """The golden first, so that the runs are drawn on top of it."""
    lines = [
        _line(one.label, kind, [place and (across.at(place[0]), up.at(place[1])) for place in places])
        for kind, one, places in zip(kinds, series, points, strict=True)
    ]
    return tuple(sorted(lines, key=lambda line: line.kind != "golden"))


def _has_one_step(series: Sequence[DrawnCurve]) -> bool:
    """Whether a metric has numbers, and all of them at one step."""
    places = [place for one in series for place in _points(one.steps, one.values) if place is not None]
    return len({step for step, _ in places}) == 1


def _stops(series: Sequence[DrawnCurve], across: Axis) -> tuple[Stop, ...]:
    """One for each step, or for every so-manieth where they are many."""
    told: dict[float, list[str]] = {}
    for one in series:
        for step, value in zip(one.steps, one.values, strict=True):
            if (at := finite(step)) is not None:
                told.setdefault(at, []).append(f"{one.label} {value_text(value)}")
    drawn = sorted(step for step in told if across.low <= step <= across.high)
    steps = drawn[:: math.ceil(len(drawn) / _MAX_STOPS)]
    places = [across.at(step) for step in steps]
    edges = [across.start, *(round((one + two) / 2, 2) for one, two in pairwise(places)), across.end]
    return tuple(
        Stop(
            left=left,
            width=round(right - left, 2),
            told=one_line(f"step {step:,.17g}: {', '.join(told[step])}"),
        )
        for step, (left, right) in zip(steps, pairwise(edges), strict=True)
    )


def _points(steps: Sequence[Any], values: Sequence[Any]) -> list[Point | None]:
    return [
        (x, y) if (x := finite(step)) is not None and (y := finite(value)) is not None else None
        for step, value in zip(steps, values, strict=True)
    ]


def _line(label: str, kind: str, points: Sequence[Point | None]) -> CurveLine:
    pieces: list[list[Point]] = [[]]
    for point in points:
        if point is None:
            pieces.append([])
        else:
            pieces[-1].append(point)
    return CurveLine(
        label=shortened(label, width=80),
        kind=kind,
        pieces=tuple(" ".join(f"{x:g},{y:g}" for x, y in piece) for piece in pieces if len(piece) > 1),
        dots=tuple(piece[0] for piece in pieces if len(piece) == 1),
    )


def _marker(divergence: Divergence | None, across: Axis) -> Marker | None:
    step = finite(divergence.step) if divergence else None
    if step is None or not across.low <= step <= across.high:
        return None
    at = across.at(step)
    return Marker(
        at=at,
        label=one_line(f"first divergence: step {step:,.17g}"),
        label_before=at > (across.start + across.end) / 2,
    )


def _summary(name: str, series: Sequence[DrawnCurve]) -> Visible:
    """The chart in one sentence, for those who do not see it."""
    ends = [
        f"{one.label} ends at {value:.6g}"
        for one in series
        if (value := next((v for v in map(finite, reversed(one.values)) if v is not None), None)) is not None
    ]
    return one_line(f"{name} over steps; {', '.join(ends)}")
