"""A search as geometry: its history, and its trials across all settings.

``study`` is what ``study.json`` holds.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from reprokit.core.report_parts import DrawnCurve
from reprokit.features.tune.studies import StudyData, TrialData
from reprokit.recipes.search_space import SettingData
from reprokit.reports.charts.axes import Axis, finite
from reprokit.reports.charts.chart_data import DOTS, DataLine, chart_data
from reprokit.reports.charts.parallel import MOST_SETTINGS, Column, Parallel, heights_between, parallel
from reprokit.reports.charts.plots import (
    BOTTOM,
    RIGHT,
    TOP,
    WIDTH,
    LegendEntry,
    Mark,
    Plot,
    limits_of,
    room_for_labels,
    traced,
)
from reprokit.reports.escaping import Visible, one_line

_HEIGHT, _ROOM = 250.0, 16.0
_ROUNDED = 1e-9  # by so much of the axis a logarithm may move an end
_BEST = "best so far"
_KINDS = {"COMPLETE": "run-0", "PRUNED": "run-4"}
_OTHERS = "run-1"


def history(study: StudyData) -> Plot | None:
    """The value of each trial, and the best so far as a line; None where no trial has a value."""
    trials = study["trials"]
    values = [number for row in trials if (number := finite(row["value"])) is not None]
    if not values:
        return None
    low, high = limits_of(values)
    across = Axis(
        low=0.0,
        high=float(max(1, len(trials) - 1)),
        start=room_for_labels(low, high),
        end=WIDTH - RIGHT,
        is_whole=True,
    )
    room = _ROOM if len(values) < len(trials) else 0.0  # those without a value stand below all others
    up = Axis(low=low, high=high, start=_HEIGHT - BOTTOM - room, end=TOP)
    best = _best_so_far(study)
    steps = [row["number"] for row in trials]
    line, alone = traced(*_as_stairs(best), across, up, kind="golden", told=_BEST)
    shown = {_kind(row): _state(row) for row in trials}
    return Plot(
        title=one_line(f"{study['metric'] or 'value'} of each trial"),
        across=Visible("trial"),
        height=_HEIGHT,
        left=across.start,
        right=across.end,
        top=TOP,
        bottom=_HEIGHT - BOTTOM,
        x_ticks=across.ticks(),
        y_ticks=up.ticks(),
        lines=(line,),
        marks=(*alone, *_marks(trials, across, up)),
        legend=(
            LegendEntry(label=Visible(_BEST), kind="golden"),
            *(LegendEntry(label=Visible(label), kind=kind, is_dot=True) for kind, label in shown.items()),
        ),
        data=chart_data(
            [
                DataLine(kind="golden", curve=DrawnCurve(label=_BEST, steps=steps, values=best)),
                *_dots(trials, list(shown.items())),
            ],
            marked=None,
            across="trial",
        ),
        summary=one_line(f"The value of each of {len(trials)} trials, and the best so far"),
    )


def across_settings(study: StudyData, importance: Mapping[str, float]) -> Parallel | None:
    """Parallel coordinates of the complete trials, the most important settings first; None without any."""
    names = sorted(study["space"], key=lambda name: -importance.get(name, 0.0))
    shown = names[:MOST_SETTINGS]
    every = [row for row in study["trials"] if row["state"] == "COMPLETE"]
    places = {name: _place(study["space"][name]) for name in shown}
    missing = {row["number"]: told for row in every if (told := _why_not(row, shown, places))}
    done = [row for row in every if row["number"] not in missing]
    if not done or not names:
        return None
    values = [float(row["value"] or 0.0) for row in done]
    columns = [
        Column(
            name=name,
            heights=tuple(places[name](row["params"][name]) for row in done),
            labels=tuple(_labels(study["space"][name])),
        )
        for name in shown
    ]
    heights = heights_between(values)
    ends = {at: f"{value:.4g}" for at, value in sorted(zip(heights, values, strict=True))}
    labels = {at: ends[at] for at in (min(ends), max(ends))}
    sign = 1 if study["direction"] == "maximize" else -1
    notes = [f"Not drawn: {', '.join(names[MOST_SETTINGS:])}."] if len(names) > MOST_SETTINGS else []
    return parallel(
        [*columns, Column(name=study["metric"] or "value", heights=heights, labels=tuple(labels.items()))],
        [_told(row, names) for row in done],
        order=sorted(range(len(done)), key=lambda at: (sign * values[at], -done[at]["number"])),
        notes=[*notes, *(f"Trial {number} is not drawn: {told}." for number, told in missing.items())],
    )


def _best_so_far(study: StudyData) -> list[float | None]:
    """For each trial the best value of a complete one up to it; None before the first."""
    better = max if study["direction"] == "maximize" else min
    found: list[float | None] = []
    best: float | None = None
    for row in study["trials"]:
        value = finite(row["value"])
        if row["state"] == "COMPLETE" and value is not None:
            best = value if best is None else better(best, value)
        found.append(best)
    return found


def _as_stairs(best: Sequence[float | None]) -> tuple[list[float], list[float]]:
    """Level up to the trial that is better."""
    steps: list[float] = []
    values: list[float] = []
    before: float | None = None
    for at, value in enumerate(best):
        if value is None:
            continue
        if before is not None and value != before:
            steps.append(float(at))
            values.append(before)
        steps.append(float(at))
        values.append(value)
        before = value
    return steps, values


def _marks(trials: Sequence[TrialData], across: Axis, up: Axis) -> Iterator[Mark]:
    for row in trials:
        value = finite(row["value"])
        came_to = "" if value is None else f", {value:.6g}"
        told = f"trial {row['number']}: {str(row['state']).lower()}{came_to}"
        yield Mark(
            x=across.at(row["number"]),
            y=_HEIGHT - BOTTOM - 6 if value is None else up.at(value),
            kind=_kind(row),
            shape="cross" if value is None else "dot",
            told=one_line(told),
        )


def _dots(trials: Sequence[TrialData], shown: Sequence[tuple[str, str]]) -> Iterator[DataLine]:
    for kind, label in shown:
        rows = [row for row in trials if _kind(row) == kind]
        steps, values = [row["number"] for row in rows], [row["value"] for row in rows]
        yield DataLine(kind=kind, curve=DrawnCurve(label=label, steps=steps, values=values), form=DOTS)


def _kind(row: TrialData) -> str:
    return _OTHERS if finite(row["value"]) is None else _KINDS.get(str(row["state"]), _OTHERS)


def _state(row: TrialData) -> str:
    return "without a value" if _kind(row) == _OTHERS else str(row["state"]).lower()


def _told(row: TrialData, names: Sequence[str]) -> str:
    params = row["params"]
    settings = ", ".join(f"{name} = {json.dumps(params[name])}" for name in names if name in params)
    return f"trial {row['number']}: {row['value']:.6g}; {settings}"


def _why_not(row: TrialData, names: Sequence[str], places: Mapping[str, Callable[[Any], float]]) -> str:
    """Why a trial has no line: what study.json says of it is not in its own space; "" where it has one."""
    if finite(row["value"]) is None:
        return "it is complete and has no value"
    for name in names:
        if name not in row["params"]:
            return f"it has no {name}"
        try:
            places[name](row["params"][name])
        except (ValueError, TypeError, OverflowError):
            return f"{name} = {json.dumps(row['params'][name])} is not in the space of the search"
    return ""


def _place(one: SettingData) -> Callable[[Any], float]:
    """From a setting's value to its height on the axis; raises ValueError for one that has none."""
    if one["type"] == "categorical":
        names = [json.dumps(choice) for choice in one["choices"]]
        return lambda value: names.index(json.dumps(value)) / (len(names) - 1) if len(names) > 1 else 0.5
    scale = math.log if one.get("log") else float
    low, high = scale(one["low"]), scale(one["high"])

    def place(value: Any) -> float:
        share = (scale(value) - low) / (high - low) if high > low else 0.5
        if not -_ROUNDED <= share <= 1.0 + _ROUNDED:
            raise ValueError(value)
        return min(1.0, max(0.0, share))

    return place


def _labels(one: SettingData) -> Iterator[tuple[float, str]]:
    if one["type"] == "categorical":
        last = len(one["choices"]) - 1
        for at, choice in enumerate(one["choices"]):
            yield (at / last if last else 0.5), _text(choice)
    else:
        yield 0.0, _text(one["low"])
        yield 1.0, _text(one["high"])


def _text(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else json.dumps(value)
