"""Plots of the statistical gate: the difference of the means next to the margin, power by size of drop."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from reprokit.core.verdicts.rows import counted
from reprokit.reports.charts.axes import Axis, finite
from reprokit.reports.charts.plots import (
    BOTTOM,
    RIGHT,
    TOP,
    WIDTH,
    Area,
    LegendEntry,
    Mark,
    MarkedValue,
    Plot,
    RowLabel,
    Span,
    limits_of,
    room_for_labels,
    traced,
)
from reprokit.reports.escaping import Visible, one_line

if TYPE_CHECKING:
    from reprokit.core.statistics.power import VisibleDrops

HEIGHT = 250.0
_HEAD, _ROW = 26.0, 44.0
_DRAWS, _POINTS = 500, 61
_NUM_COLOURS = 6
_NEEDED = 0.8  # the power with which a worsening of the margin must be found before anything is EQUIVALENT
_KEY = (
    "Dot: difference, line: its interval. Ring: the smallest worsening that would be found with 80 % power. "
    "Shaded: worsenings smaller than the margin; EQUIVALENT needs an interval that ends within, or beyond it "
    "on the better side. Whether the means differ is decided by p, not by the interval: a difference that is "
    "found is REGRESSION, also where it is smaller than the margin."
)
_EITHER_SIDE = "The report does not say which side is worse, so the margin is drawn on both."
_ODD = "Some values are not finite, so there is no difference of means: their numbers were compared."


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedLook:
    """One metric at one look; ``facts`` are those of a ``MetricJudgement``, as a report has them."""

    num_new: int
    level: float
    num_metrics: int
    facts: Mapping[str, Any]

    def number(self, key: str) -> float | None:
        """One of the facts; None where it is no finite number."""
        return finite(self.facts.get(key))

    @property
    def label(self) -> str:
        adjusted = self.number("adjusted_p_value")
        p_value = "" if adjusted is None else f", p {adjusted:.2g}"
        return f"{counted(self.num_new, 'new seed')}{p_value}, threshold {self.level:.2g}"

    @property
    def in_words(self) -> str:
        difference = self.number("difference")
        told = "no difference of means" if difference is None else f"difference {difference:.6g}"
        limits = self.limits
        return f"{self.label}: {told}" + (f", interval {limits[0]:.6g} to {limits[1]:.6g}" if limits else "")

    @property
    def limits(self) -> tuple[float, float] | None:
        """The interval of the difference; None where there is none, as in reports of before."""
        low, high = self.number("difference_low"), self.number("difference_high")
        return None if low is None or high is None else (low, high)

    @property
    def worse_is(self) -> float:
        """1 where a higher value is worse, -1 where a lower one is, 0 where this look does not tell."""
        difference = self.number("difference")
        towards = {"worse": 1.0, "better": -1.0}.get(str(self.facts.get("direction")), 0.0)
        return towards * math.copysign(1.0, difference) if difference else 0.0


def worse_is(looks: Sequence[JudgedLook]) -> float:
    """Towards which side a value gets worse, as ``JudgedLook`` has it; 0 where no look tells."""
    return next((side for look in looks if (side := look.worse_is)), 0.0)


def difference_plot(metric: str, looks: Sequence[JudgedLook], *, margin: float | None) -> Plot:
    """New mean minus the ensemble's mean at each look, next to the drop that would be acceptable."""
    sides = [worse] if (worse := worse_is(looks)) else [-1.0, 1.0]
    axis = _differences(looks, sides, margin=margin)
    tops = [TOP + _HEAD + at * _ROW for at in range(len(looks))]
    bottom = TOP + _HEAD + len(looks) * _ROW
    odd = any(look.number("difference") is None for look in looks)
    notes = (_KEY, *([] if worse else [_EITHER_SIDE]), *([_ODD] if odd else []))
    return Plot(
        title=Visible("Difference of the means"),
        across=one_line(f"{metric}: new mean minus the ensemble's mean"),
        height=bottom + BOTTOM,
        left=axis.start,
        right=axis.end,
        top=TOP,
        bottom=bottom,
        x_ticks=axis.ticks(),
        areas=() if margin is None else tuple(_acceptable(axis, side, margin) for side in sides),
        rules=(
            MarkedValue(at=axis.at(0.0), is_vertical=True, kind=""),
            *(() if margin is None else (_margin(axis.at(side * margin), margin, axis) for side in sides)),
        ),
        spans=tuple(
            Span(
                left=max(axis.start, axis.at(one.limits[0])),  # of three seeds they are far apart
                right=min(axis.end, axis.at(one.limits[1])),
                y=y + 28,
                kind="run-0",
                told=one_line(one.in_words),
            )
            for y, one in zip(tops, looks, strict=True)
            if one.limits
        ),
        rows=tuple(RowLabel(y=y + 12, text=one_line(one.label)) for y, one in zip(tops, looks, strict=True)),
        marks=tuple(
            mark for y, one in zip(tops, looks, strict=True) for mark in _marks(one, axis, y + 28, sides)
        ),
        notes=tuple(map(Visible, notes)),
        summary=one_line(f"{metric}, {'; '.join(look.in_words for look in looks)}"),
    )


def power_plot(
    metric: str, reference: Sequence[float], looks: Sequence[JudgedLook], *, margin: float | None
) -> Plot | None:
    """With which probability each look would have found a worsening of each size; None where no one can say.

    Simulated from the reference as the gate does it, with the same test at the same level.
    """
    found = _visible_drops(reference, looks)
    largest = [drop for one in found if (drop := one.smallest(0.95)) is not None]
    widest = max([*largest, 2 * (margin or 0.0)], default=0.0)
    if not largest or widest <= 0:
        return None
    across = Axis(low=0.0, high=widest, start=room_for_labels(0.0, 1.0), end=WIDTH - RIGHT)
    up = Axis(low=0.0, high=1.0, start=HEIGHT - BOTTOM, end=TOP)
    sizes = np.linspace(0.0, widest, _POINTS)
    labels = [one_line(counted(look.num_new, "new seed")) for look in looks]
    kinds = [f"run-{at % _NUM_COLOURS}" for at in range(len(looks))]
    powers = [[one.power(float(size)) for size in sizes] for one in found]
    rules = [MarkedValue(at=up.at(_NEEDED), is_vertical=False, kind="", label=Visible("80 %"))]
    rules += [] if margin is None else [_margin(across.at(margin), margin, across, below=True)]
    return Plot(
        title=Visible("Power"),
        across=one_line(f"size of a worsening of {metric} that all new seeds share"),
        height=HEIGHT,
        left=across.start,
        right=across.end,
        top=TOP,
        bottom=up.start,
        x_ticks=across.ticks(),
        y_ticks=up.ticks(),
        lines=tuple(
            traced(sizes, power, across, up, kind=kind, told=label)[0]
            for power, kind, label in zip(powers, kinds, labels, strict=True)
        ),
        rules=tuple(rules),
        legend=tuple(LegendEntry(label=label, kind=kind) for label, kind in zip(labels, kinds, strict=True)),
        notes=(Visible(f"Simulated from the values of the ensemble: {_DRAWS} gates for each line."),),
        summary=one_line(f"{metric}: power by size of worsening; {'; '.join(map(_visible, looks))}"),
    )


def _visible_drops(reference: Sequence[float], looks: Sequence[JudgedLook]) -> list[VisibleDrops]:
    from reprokit.core.statistics.power import visible_drops  # noqa: PLC0415  (scipy; few reports need it)

    worse = worse_is(looks)
    if len(reference) < 2 or (not worse and min(reference) < max(reference)):
        return []
    return [
        visible_drops(
            -worse * np.asarray(reference, dtype=np.float64),
            look.num_new,
            level=look.level / max(1, look.num_metrics),
            draws=_DRAWS,
            generator=np.random.default_rng(0),
        )
        for look in looks
    ]


def _differences(looks: Sequence[JudgedLook], sides: Sequence[float], *, margin: float | None) -> Axis:
    drops = [look.number("smallest_visible_drop") for look in looks]
    sizes = [size for size in (*drops, None if margin is None else 1.15 * margin) if size is not None]
    shown = [look.number("difference") for look in looks]
    low, high = limits_of([0.0, *shown, *(side * size for side in sides for size in sizes)])
    return Axis(low=low, high=high, start=16.0, end=WIDTH - RIGHT)


def _acceptable(axis: Axis, side: float, margin: float) -> Area:
    ends = sorted((axis.at(0.0), axis.at(side * margin)))
    told = one_line(f"smaller than the margin: worse by at most {margin:.6g}")
    return Area(left=ends[0], width=round(ends[1] - ends[0], 2), told=told)


def _margin(at: float, margin: float, axis: Axis, *, below: bool = False) -> MarkedValue:
    label = one_line(f"margin {margin:.6g}")
    is_right = at > (axis.start + axis.end) / 2
    return MarkedValue(
        at=at, is_vertical=True, kind="limit", label=label, label_before=is_right, label_below=below
    )


def _marks(look: JudgedLook, axis: Axis, y: float, sides: Sequence[float]) -> Iterator[Mark]:
    drop, difference = look.number("smallest_visible_drop"), look.number("difference")
    for side in sides if drop is not None else ():
        told = one_line(f"{look.label}: smallest visible worsening {drop:.6g}")
        yield Mark(x=axis.at(side * (drop or 0.0)), y=y, kind="run-4", shape="ring", told=told)
    if difference is not None:
        kind = "run-1" if look.facts.get("differs") is True else "run-0"
        yield Mark(x=axis.at(difference), y=y, kind=kind, shape="dot", told=one_line(look.in_words))


def _visible(look: JudgedLook) -> str:
    drop = look.number("smallest_visible_drop")
    told = "no worsening is visible" if drop is None else f"smallest visible worsening {drop:.6g}"
    return f"{counted(look.num_new, 'new seed')}: {told}"
