"""Plots over seeds: learning curves with bands, and the final results seed by seed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from reprokit.core.report_parts import DrawnCurve
from reprokit.core.verdicts.rows import counted
from reprokit.reports.charts.axes import Axis, finite
from reprokit.reports.charts.chart_data import SEED, DataLine, chart_data
from reprokit.reports.charts.plots import (
    BOTTOM,
    RIGHT,
    STRIP,
    TOP,
    WIDTH,
    Mark,
    Plot,
    PlotLine,
    RowLabel,
    Span,
    limits_of,
    outlined,
    room_for_labels,
    traced,
)
from reprokit.reports.escaping import Visible, one_line, shortened
from reprokit.reports.format_values import spelt

if TYPE_CHECKING:
    from reprokit.core.statistics.intervals import Interval

Numbers = npt.NDArray[np.float64]

HEIGHT = 250.0
_MOST_POINTS, _MOST_CROSSES = 400, 60
_ROW, _SPREAD, _DOT = 70.0, 20.0, 6.0
_LONGEST_LABEL = 52


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedCurve:
    """One metric over the steps: the mean of several seeds with its interval, or a golden, without one.

    ``seeds`` are the curves behind the mean, for a reader who asks for them.
    """

    label: str
    kind: str
    steps: Numbers
    mean: Numbers
    low: Numbers | None = None
    high: Numbers | None = None
    seeds: tuple[DrawnCurve, ...] = ()

    @property
    def limits(self) -> tuple[Numbers, Numbers] | None:
        return None if self.low is None or self.high is None else (self.low, self.high)

    def at(self, kept: npt.NDArray[np.intp]) -> SeedCurve:
        """The curve at some of its records."""
        low, high = self.limits or (None, None)
        return replace(
            self,
            steps=self.steps[kept],
            mean=self.mean[kept],
            low=None if low is None else low[kept],
            high=None if high is None else high[kept],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedResults:
    """One number for each seed, NaN and infinities among them; their mean and its interval, if any."""

    label: str
    kind: str
    values: Mapping[str, float]
    mean: float | None = None
    interval: Interval | None = None
    notes: tuple[str, ...] = ()

    @property
    def numbers(self) -> list[float]:
        """The values that are finite."""
        return [number for value in self.values.values() if (number := finite(value)) is not None]


def curve_plot(metric: str, curves: Sequence[SeedCurve]) -> Plot | None:
    """Means with their intervals over the steps; None where fewer than two steps have one."""
    thin = [_thinned(curve) for curve in curves if len(curve.steps)]
    steps = np.unique(np.concatenate([np.empty(0), *(one.steps for one in thin)]))
    if sum(int(np.count_nonzero(np.isfinite(one.mean))) for one in thin) < 2 or len(steps) < 2:
        return None
    low, high, is_cut = _heights(thin)
    across = Axis(
        low=float(steps[0]),
        high=float(steps[-1]),
        start=room_for_labels(low, high),
        end=WIDTH - RIGHT,
        is_whole=bool((np.mod(steps, 1) == 0).all()),
    )
    up = Axis(low=low, high=high, start=HEIGHT - BOTTOM, end=TOP)
    drawn = [traced(one.steps, one.mean, across, up, kind=one.kind, told=one.label) for one in thin]
    crosses = [mark for one in thin for mark in _crosses(one, across, up.start)]
    return Plot(
        title=one_line(metric),
        across=Visible("step"),
        height=HEIGHT,
        left=across.start,
        right=across.end,
        top=TOP,
        bottom=up.start,
        x_ticks=across.ticks(),
        y_ticks=up.ticks(),
        bands=tuple(_bands(thin, across, up)),
        lines=tuple(line for line, _ in drawn),
        marks=(*(mark for _, alone in drawn for mark in alone), *crosses),
        data=chart_data(
            [line for one in thin for line in _data_lines(one)],
            marked=None,
            thinned=any(len(one.steps) > _MOST_POINTS for one in curves),
        ),
        notes=tuple(_curve_notes(curves, is_cut=is_cut)),
        summary=one_line(f"{metric} over steps; {', '.join(_ends(curves))}"),
    )


def result_plot(title: str, across: str, results: Sequence[SeedResults]) -> Plot:
    """Each seed's number as a dot, a row a group; below it the mean and its 95 % interval."""
    low, high = _range(results)
    axis = Axis(low=low, high=high, start=16.0, end=WIDTH - STRIP - RIGHT)
    marks: list[Mark] = []
    spans: list[Span] = []
    rows: list[RowLabel] = []
    for at, one in enumerate(results):
        y = TOP + at * _ROW
        rows.append(RowLabel(y=y + 10, text=shortened(one.label, width=_LONGEST_LABEL)))
        marks += _dots(one, axis, y + 30)
        span, mean = _mean(one, axis, y + 54)
        spans += span
        marks += mean
    bottom = TOP + len(results) * _ROW + 6
    return Plot(
        title=one_line(title),
        across=one_line(across),
        height=bottom + BOTTOM,
        left=axis.start,
        right=axis.end,
        top=TOP,
        bottom=bottom,
        x_ticks=axis.ticks(),
        spans=tuple(spans),
        marks=tuple(marks),
        rows=tuple(rows),
        notes=tuple(one_line(f"{result.label}: {note}.") for result in results for note in result.notes),
        summary=one_line(f"{title}; {'; '.join(map(_in_words, results))}"),
    )


def _thinned(curve: SeedCurve, *, most: int = _MOST_POINTS) -> SeedCurve:
    """About ``most`` records: of each stretch the lowest, the highest, and what is no number."""
    count = len(curve.steps)
    if count <= most:
        return curve
    kept = {0, count - 1}
    low, high = curve.limits or (curve.mean, curve.mean)
    edges = np.linspace(0, count, most // 2 + 1).astype(np.intp).tolist()
    for start, end in pairwise(edges):
        is_finite = np.isfinite(curve.mean[start:end])
        there, odd = np.flatnonzero(is_finite), np.flatnonzero(~is_finite)
        if len(there):
            kept.add(start + int(there[np.nan_to_num(low[start:end][there]).argmin()]))
            kept.add(start + int(there[np.nan_to_num(high[start:end][there]).argmax()]))
        if len(odd):
            kept |= {start + int(odd[0]), start + int(odd[-1])}
    return curve.at(np.array(sorted(kept), dtype=np.intp))


def _data_lines(curve: SeedCurve) -> Iterator[DataLine]:
    low, high = (None, None) if curve.limits is None else (end.tolist() for end in curve.limits)
    mean = DrawnCurve(label=curve.label, steps=curve.steps.tolist(), values=curve.mean.tolist())
    yield DataLine(kind=curve.kind, curve=mean, low=low, high=high)
    yield from (DataLine(kind=curve.kind, curve=one, form=SEED) for one in curve.seeds)


def thinned_seed(label: str, steps: Numbers, values: Numbers, *, most: int) -> DrawnCurve:
    """The curve of one seed, thinned as means are."""
    whole = SeedCurve(label=label, kind="", steps=steps, mean=values)
    thin = _thinned(whole, most=most)
    return DrawnCurve(label=label, steps=thin.steps.tolist(), values=thin.mean.tolist())


def _heights(curves: Sequence[SeedCurve]) -> tuple[float, float, bool]:
    """The limits of the vertical axis, and whether an interval goes beyond them.

    With two or three seeds an interval may be many times as high as the curves, which no one could see then.
    """
    means = np.concatenate([one.mean[np.isfinite(one.mean)] for one in curves])
    ends = [end[np.isfinite(end)] for curve in curves for end in curve.limits or ()]
    every = np.concatenate([means, *ends])
    least, most = _near(means.tolist(), room=1.0)
    low, high = limits_of([max(least, float(every.min())), min(most, float(every.max()))])
    return low, high, bool(((every < low) | (every > high)).any())


def _range(results: Sequence[SeedResults]) -> tuple[float, float]:
    """The limits of the axis of results: all values, and intervals unless they go far beyond."""
    numbers = [number for result in results for number in result.numbers]
    if not numbers:
        return 0.0, 1.0
    least, most = _near(numbers, room=1.5)
    found = [result.interval for result in results if result.interval is not None]
    ends = [end for one in found for end in (one.low, one.high) if end is not None]
    return limits_of([*numbers, *(min(max(end, least), most) for end in ends)])


def _near(numbers: Sequence[float], *, room: float) -> tuple[float, float]:
    """So many spans of the numbers below and above them; halved first, or the largest would overflow."""
    low, high = min(numbers), max(numbers)
    half = room * (high / 2 - low / 2) or abs(low) / 2 or 0.5
    return (low / 2 - half) * 2, (high / 2 + half) * 2


def _bands(curves: Sequence[SeedCurve], across: Axis, up: Axis) -> Iterator[PlotLine]:
    for curve in curves:
        if curve.limits is not None:
            there = np.isfinite(curve.limits[0]) & np.isfinite(curve.limits[1])
            low, high = (np.where(there, np.clip(end, up.low, up.high), np.nan) for end in curve.limits)
            yield outlined(curve.steps, low, high, across, up, kind=curve.kind)


def _crosses(curve: SeedCurve, across: Axis, y: float) -> Iterator[Mark]:
    """Where there is no mean, because the value of some seed is no number."""
    odd = curve.steps[~np.isfinite(curve.mean)]
    shown = [float(step) for step in odd if across.low <= step <= across.high]
    for step in shown[:: max(1, len(shown) // _MOST_CROSSES)]:
        told = one_line(f"{curve.label}: not finite at step {step:,.17g}")
        yield Mark(x=across.at(step), y=y, kind=curve.kind, shape="cross", told=told)


def _curve_notes(curves: Sequence[SeedCurve], *, is_cut: bool) -> Iterator[Visible]:
    for curve in curves:
        odd = int(np.count_nonzero(~np.isfinite(curve.mean)))
        if odd:
            whose = "the golden's value" if curve.kind == "golden" else "the value of some seed"
            at = f"at {odd} of {counted(len(curve.steps), 'step')}"
            yield one_line(f"{curve.label}: {at} {whose} is not finite; nothing is drawn there (×).")
    if is_cut:
        yield Visible("An interval goes beyond the plot.")


def _ends(curves: Sequence[SeedCurve]) -> Iterator[str]:
    for curve in curves:
        numbers = curve.mean[np.isfinite(curve.mean)]
        if len(numbers):
            yield f"{curve.label} ends at {numbers[-1]:.6g}"


def _dots(results: SeedResults, axis: Axis, y: float) -> Iterator[Mark]:
    """Dots at their values, those that would hide each other above each other; crosses for no number."""
    values = results.values.items()
    places = sorted((axis.at(x), label) for label, value in values if (x := finite(value)) is not None)
    beside = [(axis.end + STRIP * 0.6, label) for label, value in values if finite(value) is None]
    for shape, cluster in (*(("dot", one) for one in _clusters(places)), ("cross", beside)):
        apart = min(_DOT, _SPREAD / max(1, len(cluster) - 1))
        for at, (x, label) in enumerate(cluster):
            height = round(y + (at - (len(cluster) - 1) / 2) * apart, 2)
            told = one_line(f"{results.label}, {label}: {spelt(results.values[label])}")
            yield Mark(x=x, y=height, kind=results.kind, shape=shape, told=told)


def _clusters(places: Sequence[tuple[float, str]]) -> list[list[tuple[float, str]]]:
    """Rising places, those within a dot's width together."""
    found: list[list[tuple[float, str]]] = []
    for place in places:
        if found and place[0] - found[-1][0][0] < _DOT:
            found[-1].append(place)
        else:
            found.append([place])
    return found


def _mean(results: SeedResults, axis: Axis, y: float) -> tuple[list[Span], list[Mark]]:
    if results.mean is None:
        return [], []
    found, spans = results.interval, []
    told = one_line(f"{results.label}: mean {results.mean:.6g}")
    if found is not None and found.low is not None and found.high is not None:
        told = one_line(f"{told}, 95 % interval {found.low:.6g} to {found.high:.6g}")
        left, right = (axis.at(min(max(end, axis.low), axis.high)) for end in (found.low, found.high))
        spans.append(Span(left=left, right=right, y=y, kind=results.kind, told=told))
    return spans, [Mark(x=axis.at(results.mean), y=y, kind=results.kind, shape="mean", told=told)]


def _in_words(results: SeedResults) -> str:
    if not results.numbers:
        return f"{results.label}: no finite number"
    mean = "" if results.mean is None else f", mean {results.mean:.6g}"
    ends = f"from {min(results.numbers):.6g} to {max(results.numbers):.6g}"
    return f"{results.label}: {counted(len(results.values), 'seed')} {ends}{mean}"
