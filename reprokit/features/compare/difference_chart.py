"""How far two sides are apart, record by record, on a logarithmic scale."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from reprokit.core.report_parts import DrawnCurve
from reprokit.reports.charts.axes import CHARACTER, LABEL_GAP, Axis, Tick, finite
from reprokit.reports.charts.chart_data import DataLine, chart_data
from reprokit.reports.charts.curves import HEIGHT, WIDTH, Chart, CurveLine, Marker
from reprokit.reports.escaping import Visible, one_line

_TOP, _RIGHT, _BOTTOM = 12.0, 16.0, 48.0
_MOST_TICKS = 6
_MOST_POINTS = 400
_SMALLEST = 5e-324
EXPLAINED = "the most that rounding explains"

Point = tuple[float, float]


def difference_chart(
    metric: str, one: DrawnCurve, other: DrawnCurve, bound: Sequence[float] = ()
) -> Chart | None:
    """The absolute difference at each step that both curves have; None where it is nowhere above 0.

    Args:
        metric: What is drawn.
        one: The curve of a, whole.
        other: The curve of b, whole.
        bound: The most that rounding explains, record by record, up to where bits say nothing any more.
    """
    points = list(_points(one, other))
    apart = [point for point in points if point[1] > 0]
    if not apart:
        return None
    drawn = _thinned(points)
    explained = _thinned([(x, y) for x, y in zip(one.steps, bound, strict=False) if y > 0])
    seen = [y for _, y in (*apart, *explained)]
    low, largest = math.floor(math.log10(min(seen))), max(y for _, y in apart)
    high = max(low + 1, math.ceil(math.log10(max(seen))))
    labels = [f"1e{power:+03d}" for power in range(low, high + 1)]
    left = round(LABEL_GAP + CHARACTER * max(map(len, labels)), 1)
    steps = [x for x, _ in points]
    is_whole = all(step % 1 == 0 for step in steps)
    across = Axis(low=min(steps), high=max(steps), start=left, end=WIDTH - _RIGHT, is_whole=is_whole)
    up = Axis(low=low, high=high, start=HEIGHT - _BOTTOM, end=_TOP)
    stride = max(1, math.ceil((high - low) / _MOST_TICKS))
    ticks = tuple(
        Tick(at=up.at(power), label=Visible(f"1e{power:+03d}")) for power in range(low, high + 1, stride)
    )
    return Chart(
        metric=one_line(metric),
        diverged=False,
        left=left,
        right=across.end,
        top=_TOP,
        bottom=up.start,
        lines=(
            _line(drawn, across, up, label="difference", kind="run-0"),
            *([_line(explained, across, up, label=EXPLAINED, kind="run-1")] if explained else []),
        ),
        data=chart_data(
            [
                DataLine(kind="run-0", curve=_curve("difference", drawn)),
                *([DataLine(kind="run-1", curve=_curve(EXPLAINED, explained))] if explained else []),
            ],
            marked=None,
            is_log=True,
        ),
        x_ticks=across.ticks(),
        y_ticks=ticks,
        marker=_horizon(one.steps, bound, across),
        stops=(),
        summary=one_line(f"{metric}: {len(apart)} of {len(points)} records differ, by {largest:.3g} at most"),
    )


def _points(one: DrawnCurve, other: DrawnCurve) -> Iterator[Point]:
    """Step and difference, 0 where both are equal; what is no finite number is left out."""
    for step, left, right in zip(one.steps, one.values, other.values, strict=False):
        x, a, b = finite(step), finite(left), finite(right)
        if x is not None and a is not None and b is not None:
            apart = abs(b - a)
            yield x, apart if math.isfinite(apart) else max(abs(a), abs(b))


def _thinned(points: Sequence[Point]) -> list[Point]:
    """The first, the last and the largest of each stretch: what is drawn stays as far apart as it is."""
    stride = -(-len(points) // _MOST_POINTS)
    if stride <= 1:
        return list(points)
    stretches = (points[start : start + stride] for start in range(0, len(points) - 1, stride))
    return [points[0], *(max(stretch, key=lambda point: point[1]) for stretch in stretches), points[-1]]


def _curve(label: str, points: Sequence[Point]) -> DrawnCurve:
    return DrawnCurve(label=label, steps=[x for x, _ in points], values=[y for _, y in points])


def _horizon(steps: Sequence[float], bound: Sequence[float], across: Axis) -> Marker | None:
    """Where twins are so far apart that bits say nothing any more."""
    if not 0 < len(bound) < len(steps):
        return None
    at = across.at(steps[len(bound)])
    return Marker(at=at, label=Visible("bits say nothing from here on"), label_before=at > WIDTH / 2)


def _line(points: Sequence[Point], across: Axis, up: Axis, *, label: str, kind: str) -> CurveLine:
    """Pieces between records that are equal, which have no logarithm."""
    pieces: list[list[Point]] = [[]]
    for x, apart in points:
        if apart <= 0:
            pieces.append([])
        else:
            pieces[-1].append((across.at(x), up.at(math.log10(max(apart, _SMALLEST)))))
    return CurveLine(
        label=Visible(label),
        kind=kind,
        pieces=tuple(" ".join(f"{x:g},{y:g}" for x, y in piece) for piece in pieces if len(piece) > 1),
        dots=tuple(piece[0] for piece in pieces if len(piece) == 1),
    )
