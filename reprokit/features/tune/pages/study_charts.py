"""A search as geometry: its history, its trials across all settings, and which setting mattered.

``study`` is what ``study.json`` holds. Lengths are in the chart's own units, the vertical axis pointing down.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reprokit.features.tune.studies import StudyData, TrialData
from reprokit.recipes.search_space import SettingData
from reprokit.reports.escaping import Visible, one_line, shortened

WIDTH, HEIGHT = 960.0, 300.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 100.0, 30.0, 20.0, 40.0
_ROOM = 24.0
_MOST_AXES = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Dot:
    """One trial in the history."""

    x: float
    y: float
    kind: str
    label: Visible


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """The value of each trial, and the best so far as a line."""

    dots: tuple[Dot, ...]
    best: str
    low: Visible
    low_at: float
    high: Visible
    last: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingAxis:
    """One setting, or the value, in parallel coordinates."""

    x: float
    name: Visible
    top: Visible
    bottom: Visible


@dataclass(frozen=True, slots=True, kw_only=True)
class Parallel:
    """A line for each complete trial across all axes; ``quarter`` 0 is the best quarter of them."""

    axes: tuple[SettingAxis, ...]
    lines: tuple[tuple[str, int, Visible], ...]
    left_out: tuple[Visible, ...]


def history(study: StudyData) -> History | None:
    """The history; None where no trial has a value."""
    trials = study["trials"]
    values = [row["value"] for row in trials if row["value"] is not None]
    if not values:
        return None
    low, high = min(values), max(values)
    across = _scale(0.0, float(max(1, len(trials) - 1)), _LEFT, WIDTH - _RIGHT)
    room = _ROOM if len(values) < len(trials) else 0.0  # those without a value stand below all others
    up = _scale(low, high, HEIGHT - _BOTTOM - room, _TOP)
    better = max if study["direction"] == "maximize" else min
    dots, best, line = [], None, []
    for row in trials:
        x, value = across(row["number"]), row["value"]
        state = str(row["state"]).lower()
        y = HEIGHT - _BOTTOM if value is None else up(value)
        told = f"trial {row['number']}: {state}" + ("" if value is None else f", {value:.6g}")
        dots.append(Dot(x=x, y=y, kind=state, label=one_line(told)))
        if state == "complete" and value is not None:
            now = value if best is None else better(best, value)
            if best is not None:
                line.append((x, up(best)))
            line.append((x, up(now)))
            best = now
    if best is not None:
        line.append((across(len(trials) - 1), up(best)))
    return History(
        dots=tuple(dots),
        best=_points(line),
        low=_text(low),
        low_at=HEIGHT - _BOTTOM - room,
        high=_text(high),
        last=len(trials) - 1,
    )


def parallel(study: StudyData, importance: Mapping[str, float]) -> Parallel | None:
    """Parallel coordinates of the complete trials, the most important settings first; None without any."""
    done = [row for row in study["trials"] if row["state"] == "COMPLETE"]
    names = sorted(study["space"], key=lambda name: -importance.get(name, 0.0))
    if not done or not names:
        return None
    shown = names[:_MOST_AXES]
    space = {name: study["space"][name] for name in shown}
    values = [_value(row) for row in done]
    step = (WIDTH - 2 * _LEFT) / len(shown)
    places = {name: _place(space[name]) for name in shown}
    end = _scale(min(values), max(values), HEIGHT - _BOTTOM, _TOP)
    axes = [
        SettingAxis(
            x=_LEFT + at * step,
            name=shortened(name, width=24),
            top=_end(space[name], 1),
            bottom=_end(space[name], 0),
        )
        for at, name in enumerate(shown)
    ]
    axes.append(
        SettingAxis(
            x=WIDTH - _LEFT, name=one_line("value"), top=_text(max(values)), bottom=_text(min(values))
        )
    )
    sign = -1 if study["direction"] == "maximize" else 1
    ranked = sorted(done, key=lambda row: (sign * _value(row), row["number"]))
    lines = []
    for rank, row in reversed(list(enumerate(ranked))):  # the best on top
        heights = [places[name](row["params"][name]) for name in shown]
        points = [
            *((axis.x, y) for axis, y in zip(axes, heights, strict=False)),
            (axes[-1].x, end(_value(row))),
        ]
        lines.append(
            (_points(points), rank * 4 // len(ranked), one_line(f"trial {row['number']}: {_value(row):.6g}"))
        )
    return Parallel(
        axes=tuple(axes), lines=tuple(lines), left_out=tuple(one_line(name) for name in names[_MOST_AXES:])
    )


def _value(row: TrialData) -> float:
    """The value of a complete trial, which has one."""
    return math.nan if row["value"] is None else row["value"]


def _scale(low: float, high: float, start: float, end: float) -> Any:
    """A linear map; what has no width lies in the middle."""
    if high == low:
        return lambda _value: (start + end) / 2
    return lambda value: start + (value - low) / (high - low) * (end - start)


def _place(one: SettingData) -> Any:
    """From a setting's value to its height on the axis."""
    bottom, top = HEIGHT - _BOTTOM, _TOP
    if one["type"] == "categorical":
        names = [json.dumps(choice) for choice in one["choices"]]
        scale = _scale(0.0, float(len(names) - 1), bottom, top)
        return lambda value: scale(names.index(json.dumps(value)))
    if one["log"]:
        scale = _scale(math.log(one["low"]), math.log(one["high"]), bottom, top)
        return lambda value: scale(math.log(value))
    return _scale(one["low"], one["high"], bottom, top)


def _end(one: SettingData, at: int) -> Visible:
    if one["type"] == "categorical":
        return _text(one["choices"][-at])
    return _text(one["high"] if at else one["low"])


def _text(value: Any) -> Visible:
    return one_line(f"{value:.4g}" if isinstance(value, float) else json.dumps(value), limit=24)


def _points(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
