"""Learning curves as geometry: where lines, ticks and the divergence go on a chart.

Lengths are in the chart's own units, the vertical axis pointing down; SVG and HTML scale them.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from reprokit.core.checklist import Report
from reprokit.reports.escaping import Visible, one_line
from reprokit.reports.format_values import value_text

WIDTH = 480.0
HEIGHT = 250.0

_TOP, _RIGHT, _BOTTOM = 12.0, 16.0, 48.0
_CHARACTER = 7.6
_LABEL_GAP = 10.0
_NUM_TICKS = 5
_MAX_CHARTS = 48
_NUM_COLOURS = 6
_MAX_STOPS = 64

Point = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """A mark on an axis, at ``at``."""

    at: float
    label: Visible


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
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
    """The exact values of every series at one step, told while a pointer is over the stretch around it."""

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
    lines: tuple[Line, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    marker: Marker | None
    stops: tuple[Stop, ...]
    summary: Visible


@dataclass(frozen=True, slots=True, kw_only=True)
class Charts:
    """All charts, the metric that diverged first, and the legend that they share."""

    shown: tuple[Chart, ...]
    num_cut: int
    num_single: int  # metrics with one record only, of which there is no curve
    legend: tuple[Line, ...]


def charts(report: Report) -> Charts:
    """Charts of every metric that has at least one number to draw."""
    return charts_of(report.curves, report.divergence)


def charts_of(
    curves: Mapping[str, Sequence[Mapping[str, Any]]], divergence: Mapping[str, Any] | None
) -> Charts:
    """As ``charts``, from the parts of a report that it needs."""
    diverged = (divergence or {}).get("metric")
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
    series: Sequence[Mapping[str, Any]],
    divergence: Mapping[str, Any] | None,
    *,
    is_diverged: bool,
) -> Chart | None:
    points = [_points(one["steps"], one["values"]) for one in series]
    finite = [point for one in points for point in one if point is not None]
    if not finite or _has_one_step(series):
        return None
    steps, values = [x for x, _ in finite], [y for _, y in finite]
    low, high = _padded(min(values), max(values))
    labels = _tick_labels(_nice(low, high))
    left = round(_LABEL_GAP + _CHARACTER * max(map(len, labels)), 1)
    across = _Axis(
        low=min(steps),
        high=max(steps),
        start=left,
        end=WIDTH - _RIGHT,
        is_whole=all(step % 1 == 0 for step in steps),
    )
    up = _Axis(low=low, high=high, start=HEIGHT - _BOTTOM, end=_TOP)
    return Chart(
        metric=one_line(metric),
        diverged=is_diverged,
        left=left,
        right=across.end,
        top=_TOP,
        bottom=up.start,
        lines=_lines(series, points, across, up),
        x_ticks=across.ticks(),
        y_ticks=up.ticks(),
        marker=_marker(divergence, across),
        stops=_stops(series, across),
        summary=_summary(metric, series),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Axis:
    """Values from ``low`` to ``high`` drawn from ``start`` to ``end``."""

    low: float
    high: float
    start: float
    end: float
    is_whole: bool = False

    def at(self, value: float) -> float:
        """Everything is halved first: the span of two float64 can be larger than any float64."""
        span = self.high / 2 - self.low / 2
        share = (value / 2 - self.low / 2) / span if span > 0 else 0.5
        return round(self.start + share * (self.end - self.start), 2)

    def ticks(self) -> tuple[Tick, ...]:
        values = _nice(self.low, self.high)
        if self.is_whole:  # there is no half step
            values = [value for value in values if value % 1 == 0] or values
        labels = _tick_labels(values)
        is_across = self.end > self.start
        width = _CHARACTER * (max(map(len, labels)) + 1) * len(labels) if is_across else 0.0
        stride = max(1, math.ceil(width / abs(self.end - self.start)))
        pairs = list(zip(values, labels, strict=True))[::stride]
        return tuple(Tick(at=self.at(value), label=label) for value, label in pairs)


def _lines(
    series: Sequence[Mapping[str, Any]], points: Sequence[Sequence[Point | None]], across: _Axis, up: _Axis
) -> tuple[Line, ...]:
    """The golden first, so that the runs are drawn on top of it."""
    lines: list[Line] = []
    num_runs = 0
    for one, places in zip(series, points, strict=True):
        kind = "golden" if one["label"].startswith("golden") else f"run-{num_runs % _NUM_COLOURS}"
        num_runs += kind != "golden"
        drawn = [place and (across.at(place[0]), up.at(place[1])) for place in places]
        lines.append(_line(one["label"], kind, drawn))
    return tuple(sorted(lines, key=lambda line: line.kind != "golden"))


def _has_one_step(series: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a metric has numbers, and all of them at one step."""
    places = [place for one in series for place in _points(one["steps"], one["values"]) if place is not None]
    return len({step for step, _ in places}) == 1


def _stops(series: Sequence[Mapping[str, Any]], across: _Axis) -> tuple[Stop, ...]:
    """One for each step, or for every so-manieth where they are many."""
    told: dict[float, list[str]] = {}
    for one in series:
        for step, value in zip(one["steps"], one["values"], strict=True):
            if (at := _finite(step)) is not None:
                told.setdefault(at, []).append(f"{one['label']} {value_text(value)}")
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
        (x, y) if (x := _finite(step)) is not None and (y := _finite(value)) is not None else None
        for step, value in zip(steps, values, strict=True)
    ]


def _finite(value: Any) -> float | None:
    """A number that can be drawn; halved numbers must not overflow when they are subtracted."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _padded(low: float, high: float) -> tuple[float, float]:
    span = high / 2 - low / 2
    pad = span * 0.1 if span > 0 else abs(low) * 0.05 or 1.0
    return max(-sys.float_info.max, low - pad), min(sys.float_info.max, high + pad)


def _nice(low: float, high: float) -> list[float]:
    """Round numbers between ``low`` and ``high``: 1, 2 or 5 times a power of ten apart."""
    rough = (high / 2 - low / 2) / _NUM_TICKS * 2
    if not (math.isfinite(rough) and rough > 1e-300 and rough < 1e300):
        return sorted({low, high})
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1.0, 2.0, 5.0, 10.0) if power * factor >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    values = [
        round((first + index) * step, 12 - math.floor(math.log10(step))) for index in range(_NUM_TICKS * 2)
    ]
    return [value for value in values if low <= value <= high] or sorted({low, high})


def _tick_labels(values: Sequence[float]) -> list[Visible]:
    """Labels with as many digits as it takes to tell neighbours apart."""
    largest = max(abs(value) for value in values)
    if 10_000 <= largest < 1e15 and all(value % 1 == 0 for value in values):
        unit, sign = (1e6, "M") if largest >= 1e6 else (1e3, "k")
        return [Visible("0" if value == 0 else f"{value / unit:.15g}{sign}") for value in values]
    is_plain = all(value == 0 or 1e-4 <= abs(value) < 1e6 for value in values)
    formats = [f".{digits}f" for digits in range(8)] if is_plain else []
    formats += [f".{digits}g" for digits in range(1, 13)]
    spelt = [[f"{value:{one}}" for value in values] for one in formats]
    exact = (labels for labels in spelt if [float(label) for label in labels] == list(values))
    distinct = ([f"{value:.{digits}g}" for value in values] for digits in range(3, 18))
    found = next(exact, None) or next((one for one in distinct if len(set(one)) == len(one)), spelt[-1])
    return [Visible(label) for label in found]


def _line(label: str, kind: str, points: Sequence[Point | None]) -> Line:
    pieces: list[list[Point]] = [[]]
    for point in points:
        if point is None:
            pieces.append([])
        else:
            pieces[-1].append(point)
    return Line(
        label=one_line(label, limit=80),
        kind=kind,
        pieces=tuple(" ".join(f"{x:g},{y:g}" for x, y in piece) for piece in pieces if len(piece) > 1),
        dots=tuple(piece[0] for piece in pieces if len(piece) == 1),
    )


def _marker(divergence: Mapping[str, Any] | None, across: _Axis) -> Marker | None:
    step = _finite((divergence or {}).get("step"))
    if step is None or not across.low <= step <= across.high:
        return None
    at = across.at(step)
    return Marker(
        at=at,
        label=one_line(f"first divergence: step {step:,.17g}"),
        label_before=at > (across.start + across.end) / 2,
    )


def _summary(name: str, series: Sequence[Mapping[str, Any]]) -> Visible:
    """The chart in one sentence, for those who do not see it."""
    ends = [
        f"{one['label']} ends at {value:.6g}"
        for one in series
        if (value := next((v for v in map(_finite, reversed(one["values"])) if v is not None), None))
        is not None
    ]
    return one_line(f"{name} over steps; {', '.join(ends)}")
