"""Metrics as a test has them, written down whole, the caller's data untouched."""

from __future__ import annotations

import copy
import json

import numpy as np
import pytest

from reprokit.errors import MetricsError
from reprokit.pytest_plugin.records import as_bytes


def lines(metrics):
    return [json.loads(line) for line in as_bytes(metrics)[0].splitlines()]


def test_records_keep_every_digit_and_get_a_step():
    assert lines([{"loss": 0.1 + 0.2}]) == [{"step": 0, "loss": 0.30000000000000004}]


def test_a_step_of_the_callers_own_stays_and_comes_first():
    text = as_bytes([{"loss": 1.0, "step": 512}])[0]
    assert text == b'{"step": 512, "loss": 1.0}\n'


def test_columns_become_records():
    assert lines({"loss": [0.5, 0.25], "n": range(2)}) == [
        {"step": 0, "loss": 0.5, "n": 0},
        {"step": 1, "loss": 0.25, "n": 1},
    ]


def test_arrays_of_numpy_keep_their_exact_values():
    single = np.array([0.1, 0.2], dtype=np.float32)
    found = lines({"loss": single, "count": np.array([1, 2])})
    assert [record["loss"] for record in found] == [float(single[0]), float(single[1])]
    assert [type(record["count"]) for record in found] == [int, int]


def test_scalars_of_numpy_inside_records_are_numbers():
    assert lines([{"loss": np.float64(0.1), "n": np.int64(3), "shape": np.zeros(2)}]) == [
        {"step": 0, "loss": 0.1, "n": 3, "shape": [0.0, 0.0]}
    ]


@pytest.mark.parametrize(
    "metrics",
    [
        [{"loss": np.float32(0.1), "list": [0.123456789012345]}],
        {"loss": np.array([0.123456789012345]), "other": [0.123456789012345]},
        {"loss": np.array([np.nan, -0.0]), "other": [1, 2]},
    ],
)
def test_the_callers_data_is_never_changed(metrics):
    before = copy.deepcopy(metrics)
    as_bytes(metrics)
    assert repr(metrics) == repr(before)


def test_a_file_and_a_folder_are_taken_byte_for_byte(tmp_path):
    content = b'{"step": 1, "loss": 0.10}\n'
    (tmp_path / "metrics.jsonl").write_bytes(content)
    assert as_bytes(tmp_path) == (content, ".jsonl")
    assert as_bytes(str(tmp_path / "metrics.jsonl")) == (content, ".jsonl")


@pytest.mark.parametrize(
    ("metrics", "why"),
    [
        ([], "no record"),
        ({}, "no record"),
        ({"loss": []}, "no record"),
        ({"loss": [1.0], "n": [1, 2]}, "different lengths"),
        ({"loss": 1.0}, "not a list or array"),
        ({"loss": "0.5"}, "not a list or array"),
        ([1.0], "a record is not a mapping"),
        ([{1: 1.0}], "name is not text"),
        ([{"loss": {1: 0.5, "1": 0.25}}], "two names of a mapping are the same text"),
        ({"loss": [{1: 0.5, "1": 0.25}]}, "two names of a mapping are the same text"),
        ([{"loss": object()}], "cannot be written as JSON"),
        ([{"loss": {1.0, 2.0}}], "cannot be written as JSON"),
        ((record for record in [{"loss": 1.0}]), "neither records nor columns"),
        (b"loss", "a record is not a mapping"),
    ],
)
def test_what_cannot_be_written_down_is_refused(metrics, why):
    with pytest.raises(MetricsError, match=why):
        as_bytes(metrics)


def test_a_path_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(MetricsError, match="cannot read"):
        as_bytes(tmp_path / "nothing.jsonl")
