"""A source read from end to end: what it holds, and its curves."""

import json
import math
import os

import pytest

from reprokit import adapters

NAN, INF = math.nan, math.inf


@pytest.fixture
def write(tmp_path):
    def one(*records, name="metrics.jsonl"):
        path = tmp_path / name
        path.write_text("".join((r if isinstance(r, str) else json.dumps(r)) + "\n" for r in records))
        return path

    return one


def test_a_summary_says_what_a_file_holds(write):
    path = write({"step": 0, "b": 1.0, "a": 2}, {"step": 256, "b": 3.0}, {"step": 512, "c": None})
    summary = adapters.summarise(path)
    assert summary.num_records == 3
    assert summary.metric_names == ("a", "b", "c")
    assert summary.last_step == 512
    assert dict(summary.final_values) == {"b": 3.0, "a": 2, "c": None}
    assert summary.problems == ()


def test_a_summary_names_what_is_wrong_and_goes_on(write):
    summary = adapters.summarise(write({"step": 0, "a": 1}, "{torn", {"step": 0, "a": 2}))
    assert summary.num_records == 2
    assert [(problem.kind, problem.line) for problem in summary.problems] == [
        ("torn_line", 2),
        ("duplicate_step", 3),
    ]


def test_an_empty_file_is_a_problem(write):
    assert [problem.kind for problem in adapters.summarise(write()).problems] == ["empty_file"]


def test_series_are_the_numbers_of_every_metric(write):
    path = write(
        {"step": 0, "a": 1.0, "b": "x"},
        {"step": 8, "a": NAN, "c": True},
        {"step": 16, "a": 10**400, "d": INF},
    )
    series = adapters.read_series(path)
    assert list(series) == ["a", "d"]
    assert series["a"].steps == [0, 8, 16]
    assert [str(value) for value in series["a"].values] == ["1.0", "nan", "inf"]
    assert series["d"].steps == [16]


def test_without_steps_the_position_is_taken(write):
    assert adapters.read_series(write({"a": 1.0}, {"a": 2.0}))["a"].steps == [0, 1]
    assert adapters.read_series(write({"step": "x", "a": 1.0}))["a"].steps == [0]


def test_thinning_keeps_the_ends_the_spikes_and_what_is_not_finite(write):
    values = [math.sin(at / 500) for at in range(10_000)]
    values[4321], values[7000], values[7001] = 99.0, NAN, INF
    path = write(*({"step": at, "a": value} for at, value in enumerate(values)))
    series = adapters.read_series(path, max_points=200)["a"]
    assert len(series.steps) == len(series.values) <= 204
    assert series.steps == sorted(series.steps)
    assert {0, 4321, 7000, 7001, 9999} <= set(series.steps)
    assert all(
        values[step] == value or step == 7000 for step, value in zip(series.steps, series.values, strict=True)
    )


def test_thinning_a_curve_of_nothing_but_nan_keeps_its_ends(write):
    path = write(*({"step": at, "a": NAN if at > 100 else 1.0} for at in range(5000)))
    series = adapters.read_series(path, max_points=50)["a"]
    assert len(series.steps) < 60
    assert {0, 101, 4999} <= set(series.steps)


@pytest.mark.parametrize("count", [1, 2, 3, 50])
def test_few_points_are_all_kept(write, count):
    path = write(*({"step": at, "a": float(at)} for at in range(count)))
    assert adapters.read_series(path, max_points=50)["a"].steps == list(range(count))


def test_both_sides_of_a_pair_are_labelled(write):
    pair = (
        adapters.source_of(write({"step": 0, "a": 1.0})),
        adapters.source_of(write({"step": 0, "a": 2.0}, name="b.jsonl")),
    )
    found = adapters.series_of_pairs([pair], max_points=10)
    assert [(one.label, one.values) for one in found["a"]] == [("expected", [1.0]), ("actual", [2.0])]


@pytest.mark.parametrize("name", ["metrics.jsonl", "metrics.csv"])
def test_reading_can_start_in_the_middle(tmp_path, name):
    path = tmp_path / name
    if name.endswith("csv"):
        path.write_text("step\n" + "".join(f"{at}\n" for at in range(5000)))
    else:
        path.write_text("".join(f'{{"step": {at}}}\n' for at in range(50_000)))
    found = adapters.read_from(adapters.source_of(path), first=4990, count=3)
    assert [reading.record["step"] for reading in found] == [4990, 4991, 4992]


def test_a_source_that_cannot_be_read_leaves_nothing_out_and_stops_nothing(write, tmp_path):
    write({"step": 0, "time/fps": 1.0})
    os.mkfifo(tmp_path / "pipe.jsonl")
    assert adapters.ignored_metrics([tmp_path], ["time/*"]) == {"time/fps": "time/*"}


def test_of_very_many_metrics_only_the_first_and_the_known_are_kept(tmp_path):
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"step": 1, "a": 1.0, "text": "x", "b": 2.0, "c": 3.0, "d": 4.0}\n')
    assert list(adapters.read_series(path, max_series=2)) == ["a", "b"]
    assert list(adapters.read_series(path, max_series=2, known={"d"})) == ["a", "d"]
    assert list(adapters.read_series(path, max_series=1, known={"d", "e"})) == ["d"]
    assert list(adapters.read_series(path)) == ["a", "b", "c", "d"]
