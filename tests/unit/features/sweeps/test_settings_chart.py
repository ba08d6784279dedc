"""The members of a sweep across its settings."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

from reprokit.features.sweeps.settings_chart import settings_chart


def member(result, *settings, metric="loss", seed=1):
    last = None if result is None else (metric, result)
    return SimpleNamespace(settings=settings, last_return=last, label=f"{' '.join(settings)} seed {seed}")


GRID = [
    member(3.0, "lr=0.1", "kind=b", "width=8"),
    member(1.0, "lr=1e-3", "kind=a", "width=8"),
    member(2.0, "lr=0.02", "kind=b", "width=8"),
    member(None, "lr=0.1", "kind=a", "width=8"),
]


def test_numbers_stand_by_size_words_as_they_come_and_what_all_have_is_no_axis():
    found = settings_chart(GRID)
    assert [str(axis.name) for axis in found.axes] == ["lr", "kind", "last loss"]
    assert [[str(tick.label) for tick in axis.ticks] for axis in found.axes[:2]] == [
        ["1e-3", "0.02", "0.1"],
        ["b", "a"],
    ]


def test_a_line_is_a_finished_member_the_largest_result_on_top():
    found = settings_chart(GRID)
    assert [str(line.told) for line in found.lines] == [
        "lr=1e-3 kind=a width=8 seed 1: 1.00",
        "lr=0.02 kind=b width=8 seed 1: 2.00",
        "lr=0.1 kind=b width=8 seed 1: 3.00",
    ]
    lowest, _, highest = (line.points.split() for line in found.lines)
    assert [point.split(",")[1] for point in lowest] == ["240", "20", "240"]
    assert [point.split(",")[1] for point in highest] == ["20", "240", "20"]


def test_without_settings_that_differ_or_results_there_is_no_chart():
    assert settings_chart([member(1.0, seed=1), member(2.0, seed=2)]) is None
    assert settings_chart([member(1.0, "a=1"), member(2.0, "a=1")]) is None
    assert settings_chart([member(1.0, "a=1"), member(float("nan"), "a=2")]) is None
    assert settings_chart([member(1.0, "a=1"), member(2.0, "a=2", metric="other")]) is None


def test_what_has_no_room_is_counted_and_equal_results_lie_in_the_middle():
    names = [f"s{at}" for at in range(10)]
    found = settings_chart([member(1.0, *(f"{name}={value}" for name in names)) for value in "ab"])
    assert [str(note) for note in found.notes] == ["2 more settings in the table."]
    assert [str(tick.label) for tick in found.axes[-1].ticks] == ["1.00"]
    assert {line.points.split(",")[-1] for line in found.lines} == {"130"}


def test_long_names_stand_in_two_rows_and_are_whole_in_their_titles():
    names = [f"setting_number_{at}_of_the_optimizer" for at in range(8)]
    found = settings_chart([member(float(value), *(f"{name}={value}" for name in names)) for value in "12"])
    assert [axis.name_at for axis in found.axes[:3]] == [262, 279, 262]
    assert all(len(axis.name) <= 26 for axis in found.axes)
    assert str(found.axes[0].whole_name) == names[0]


def test_of_many_values_as_many_are_named_as_there_is_room_for():
    found = settings_chart([member(float(at), f"seed_of_data={at}") for at in range(40)])
    heights = sorted(tick.at for tick in found.axes[0].ticks)
    assert min(after - before for before, after in itertools.pairwise(heights)) >= 14


def test_a_command_stands_on_an_axis_for_each_of_its_options():
    words = "python, train.py, --rate, {rate}, --width, {width}"
    found = settings_chart(
        [member(1.0, f"command=[{words.format(rate=rate, width=8)}]") for rate in ("3", "0.2", "0.8")]
    )
    assert [str(axis.name) for axis in found.axes] == ["rate", "last loss"]
    assert [str(tick.label) for tick in found.axes[0].ticks] == ["0.2", "0.8", "3"]
