"""Metrics files as columns: the same numbers as reading record by record."""

import json
import math

import numpy as np
import pytest

from reprokit import adapters
from reprokit.adapters import columns


@pytest.fixture
def write(tmp_path):
    def write(*lines, name="metrics.jsonl", end="\n"):
        path = tmp_path / name
        text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
        path.write_text(text + end)
        return path

    return write


def read(path):
    found = adapters.read_columns(path)
    return {name: (at.tolist(), values.tolist()) for name, (at, values) in found.series.items()}


RECORDS = [{"step": 256 * at, "loss": at / 7, "count": at} for at in range(1, 40)]


def test_it_reads_what_read_series_reads(write):
    path = write(*RECORDS)
    expected = {name: (one.steps, one.values) for name, one in adapters.read_series(path).items()}
    assert read(path) == expected
    assert read(path)["loss"][1] == [record["loss"] for record in RECORDS]


def test_plain_numbers_are_read_as_tables_and_other_files_record_by_record(write, monkeypatch):
    path = write(*RECORDS)
    quick = read(path)
    monkeypatch.setattr(columns, "_tables", lambda path: None)
    assert read(path) == quick


def test_a_file_of_several_blocks_is_one_column(write, monkeypatch):
    pytest.importorskip("orjson")  # without it there are no tables
    path = write(*RECORDS)
    whole = read(path)
    monkeypatch.setattr(
        columns.LineFile.__init__, "__kwdefaults__", {"block_bytes": 200, "cuts_blank_end": False}
    )
    assert len(columns._tables(path)) > 1
    assert read(path) == whole


def test_a_metric_that_comes_later_has_its_own_steps(write):
    found = read(write(*RECORDS[:3], {"step": 2000, "loss": 1.0, "eval": 5.0}))
    assert found["eval"] == ([2000.0], [5.0])
    assert len(found["loss"][0]) == 4


def test_nan_and_infinities_stay_and_null_is_no_value(write):
    lines = (
        '{"step": 1, "a": NaN}',
        '{"step": 2, "a": -Infinity}',
        '{"step": 3, "a": null}',
        '{"step": 4, "a": 1}',
    )
    steps, values = read(write(*lines))["a"]
    assert steps == [1.0, 2.0, 4.0]
    assert math.isnan(values[0])
    assert values[1:] == [-math.inf, 1.0]


def test_what_is_no_number_is_counted(write):
    found = adapters.read_columns(
        write({"step": 1, "a": "x", "b": True, "c": [1], "d": 2}, {"step": 2, "a": "y"})
    )
    assert found.not_numbers == {"a": 2, "b": 1, "c": 1}
    assert set(found.series) == {"d"}


def test_what_cannot_be_read_is_counted(write):
    found = adapters.read_columns(write(*RECORDS[:2], '{"step": 3, "loss": ', end=""))
    assert found.num_unreadable == 1
    assert len(found.series["loss"][1]) == 2


def test_without_steps_records_are_counted(write):
    assert read(write({"a": 5}, {"a": 6}))["a"] == ([0.0, 1.0], [5.0, 6.0])


def test_another_format_is_read_too(write):
    path = write("step,loss", "1,0.5", "2,0.25", name="progress.csv")
    assert read(path)["loss"] == ([1.0, 2.0], [0.5, 0.25])


def test_an_empty_file_has_no_columns(write):
    assert read(write(end="")) == {}


def test_a_very_long_line_is_left_to_the_other_reader(write):
    record = {"step": 1, **{f"metric_{at:06}": at + 0.5 for at in range(60_000)}}
    path = write(record, record)
    assert columns._tables(path) is None
    assert np.shape(read(path)["metric_000001"]) == (2, 2)
