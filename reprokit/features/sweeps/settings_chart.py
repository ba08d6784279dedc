"""A sweep in parallel coordinates: a line for each finished member across the settings that differ.

Lengths are in the chart's own units, the vertical axis pointing down.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from reprokit.reports.charts.axes import Axis, Tick, finite
from reprokit.reports.escaping import Visible, one_line, shortened
from reprokit.reports.tables import few_digits

WIDTH, HEIGHT = 960.0, 300.0
_SIDE, _TOP, _BOTTOM = 110.0, 20.0, 40.0
_MOST_AXES = 8
_SHADES = ("line", "run-4", "run-0", "golden")  # of the quarters, the smallest results first


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingAxis:
    """A setting with its values, or the result with its smallest and largest."""

    x: float
    name: Visible
    ticks: tuple[Tick, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberLine:
    """One member: its points, its shade, and what it is."""

    points: str
    shade: str
    told: Visible


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsChart:
    """The axes, and the lines with the largest result on top."""

    axes: tuple[SettingAxis, ...]
    lines: tuple[MemberLine, ...]
    num_cut: int


def settings_chart(members: Sequence[Any]) -> SettingsChart | None:
    """The chart of a sweep's members; None where no setting differs, or fewer than two have a result."""
    done = [one for one in members if one.last_return is not None and finite(one.last_return[1]) is not None]
    values = [_of(one.settings) for one in done]
    names = list(dict.fromkeys(name for found in values for name in found))
    names = [name for name in names if len({found.get(name, "") for found in values}) > 1]
    if len(done) < 2 or not names or len({one.last_return[0] for one in done}) > 1:
        return None
    shown = names[:_MOST_AXES]
    step = (WIDTH - 2 * _SIDE) / len(shown)
    axes, heights = [], []
    for at, name in enumerate(shown):
        places = _places([found.get(name, "") for found in values])
        ticks = tuple(Tick(at=y, label=shortened(value, width=16)) for value, y in places.items())
        axes.append(SettingAxis(x=_SIDE + at * step, name=shortened(name, width=24), ticks=ticks))
        heights.append([places[found.get(name, "")] for found in values])
    results = [float(one.last_return[1]) for one in done]
    end = Axis(low=min(results), high=max(results), start=HEIGHT - _BOTTOM, end=_TOP)
    ends = dict.fromkeys((min(results), max(results)))
    labels = tuple(Tick(at=end.at(value), label=one_line(few_digits(value))) for value in ends)
    metric = done[0].last_return[0]
    axes.append(SettingAxis(x=WIDTH - _SIDE, name=shortened(f"last {metric}", width=24), ticks=labels))
    heights.append([end.at(value) for value in results])
    return SettingsChart(
        axes=tuple(axes),
        lines=tuple(_lines(done, results, axes, heights)),
        num_cut=len(names) - len(shown),
    )


def _lines(
    members: Sequence[Any],
    results: Sequence[float],
    axes: Sequence[SettingAxis],
    heights: Sequence[Sequence[float]],
) -> Iterator[MemberLine]:
    order = sorted(range(len(members)), key=lambda at: (results[at], at))
    for rank, at in enumerate(order):
        yield MemberLine(
            points=" ".join(f"{axis.x:g},{column[at]:g}" for axis, column in zip(axes, heights, strict=True)),
            shade=_SHADES[rank * len(_SHADES) // len(order)],
            told=one_line(f"{members[at].label}: {few_digits(results[at])}"),
        )


def _of(settings: Sequence[str]) -> dict[str, str]:
    """Name → value of settings as they were typed."""
    pairs = (setting.partition("=") for setting in settings)
    return {name: value for name, _, value in pairs}


def _places(values: Sequence[str]) -> dict[str, float]:
    """Where each value stands, equally far apart: numbers by size, words in the order in which they come."""
    found = list(dict.fromkeys(values))
    numbers = [_number(value) for value in found]
    if all(number is not None for number in numbers):
        found = [value for _, value in sorted(zip(numbers, found, strict=True))]
    axis = Axis(low=0.0, high=float(len(found) - 1), start=HEIGHT - _BOTTOM, end=_TOP)
    return {value: axis.at(float(at)) for at, value in enumerate(found)}


def _number(text: str) -> float | None:
    try:
        return finite(float(text))
    except ValueError:
        return None
