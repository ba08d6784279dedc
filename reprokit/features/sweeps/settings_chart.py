"""A sweep in parallel coordinates: a line for each finished member across the settings that differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from reprokit.core.setting_names import differences
from reprokit.core.verdicts.rows import counted
from reprokit.reports.charts.axes import finite
from reprokit.reports.charts.parallel import MOST_SETTINGS, Column, Parallel, heights_between, parallel
from reprokit.reports.tables import few_digits


def settings_chart(members: Sequence[Any]) -> Parallel | None:
    """The chart of a sweep's members; None where no setting differs, or fewer than two have a result."""
    done = [one for one in members if one.last_return is not None and finite(one.last_return[1]) is not None]
    values = _values([one.settings for one in done])
    names = list(values[0]) if values else []
    if len(done) < 2 or not names or len({one.last_return[0] for one in done}) > 1:
        return None
    results = [float(one.last_return[1]) for one in done]
    columns = [_setting(name, [found[name] for found in values]) for name in names[:MOST_SETTINGS]]
    order = sorted(range(len(done)), key=lambda at: (results[at], at))
    num_cut = len(names) - MOST_SETTINGS
    return parallel(
        [*columns, _result(f"last {done[0].last_return[0]}", results)],
        [f"{one.label}: {few_digits(result)}" for one, result in zip(done, results, strict=True)],
        order=order,
        notes=[f"{counted(num_cut, 'more setting')} in the table."] if num_cut > 0 else (),
    )


def _values(sets: Sequence[Sequence[str]]) -> list[dict[str, str]]:
    """Of each member name → value of the settings that differ; of a command these are its options."""
    return [
        {name: told.removeprefix(f"{name}=") for name, told in found.items()} for found in differences(sets)
    ]


def _setting(name: str, values: Sequence[str]) -> Column:
    """Values equally far apart: numbers by size, words in the order in which they come."""
    found = list(dict.fromkeys(values))
    numbers = [_number(value) for value in found]
    if all(number is not None for number in numbers):
        found = [value for _, value in sorted(zip(numbers, found, strict=True))]
    places = dict(zip(found, heights_between(list(range(len(found)))), strict=True))
    return Column(
        name=name,
        heights=tuple(places[value] for value in values),
        labels=tuple((at, value) for value, at in places.items()),
    )


def _result(name: str, results: Sequence[float]) -> Column:
    heights = heights_between(results)
    ends = dict(sorted(zip(heights, results, strict=True)))
    labels = {at: few_digits(ends[at]) for at in (min(ends), max(ends))}
    return Column(name=name, heights=heights, labels=tuple(labels.items()))


def _number(text: str) -> float | None:
    try:
        return finite(float(text))
    except ValueError:
        return None
