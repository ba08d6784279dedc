"""Faults in records and bytes: each is real, each follows from its seed alone."""

from __future__ import annotations

import json
import math
import struct
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reprokit.errors import CannotJudgeError
from reprokit.features.selftest import mutations

VALUES = (
    mutations.flipped_bit,
    mutations.one_ulp,
    mutations.negative_zero,
    mutations.nan,
    mutations.infinity,
    mutations.opposite_sign,
)
ON_RECORDS = (
    *(mutations.number(value) for value in VALUES),
    mutations.rounded,
    mutations.another_type,
    mutations.another_step,
    mutations.drop_record,
    mutations.double_record,
    mutations.swap_records,
    mutations.shift_metric,
    mutations.swap_metrics,
    mutations.drop_metric,
    mutations.rename_metric,
    mutations.extra_metric,
    mutations.another_order,
)
ON_BYTES = (
    mutations.cut_in_a_line,
    mutations.cut_in_a_number,
    mutations.cut_at_a_line_end,
    mutations.cut_before_the_newline,
    mutations.emptied,
    mutations.more_white_space,
)
FOUND = [
    {"step": 10, "loss/policy": -0.0139968711, "loss/value": 78.0655517578125, "optim/lr": 0.0003},
    {"step": 20, "loss/policy": 0.25, "loss/value": 47.2366447, "optim/lr": 0.0003, "eval/mean": 0.0},
    {"step": 30, "loss/policy": 0.125, "loss/value": 1e-300, "optim/lr": 0.0003},
]


def bits(value):
    return struct.pack("<d", value)


@pytest.mark.parametrize("mutate", ON_RECORDS, ids=lambda one: one.__name__)
@pytest.mark.parametrize("seed", range(20))
def test_every_fault_in_records_is_a_change_and_follows_from_its_seed(mutate, seed):
    before = json.dumps(FOUND)
    first, again = (mutations.records(FOUND, mutate, rng=Random(seed)) for _ in range(2))
    assert mutations.write(first) != mutations.write(FOUND)
    assert mutations.write(first) == mutations.write(again)
    assert json.dumps(FOUND) == before


@pytest.mark.parametrize("mutate", ON_BYTES, ids=lambda one: one.__name__)
@pytest.mark.parametrize("seed", range(20))
def test_every_fault_in_bytes_is_a_change_and_follows_from_its_seed(mutate, seed):
    data = mutations.write(FOUND)
    first, again = (mutations.raw(data, mutate, rng=Random(seed)) for _ in range(2))
    assert first == again != data


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(0, 2**32))
def test_a_flipped_bit_is_one_bit(value, seed):
    flipped = mutations.flipped_bit(value, Random(seed))
    if not math.isnan(flipped):
        before, after = (int.from_bytes(bits(one), "little") for one in (value, flipped))
        assert (before ^ after).bit_count() == 1


@given(st.floats(allow_nan=False, allow_infinity=False, width=64))
def test_what_is_written_is_what_was_planted(value):
    assert bits(mutations.read(mutations.write([{"step": 1, "x": value}]))[0]["x"]) == bits(value)


@pytest.mark.parametrize(
    ("mutate", "found"),
    [
        (mutations.number(mutations.negative_zero), [{"step": 1, "x": -0.0}]),
        (mutations.number(mutations.opposite_sign), [{"step": 1}]),
        (mutations.sign_of_zero, [{"step": 1, "x": 1.0}]),
        (mutations.rounded, [{"step": 1, "x": 0.5}]),
        (mutations.shift_metric, [{"step": 1, "x": 0.5}, {"step": 2, "x": 0.5}]),
    ],
)
def test_a_change_that_would_change_nothing_is_refused(mutate, found):
    with pytest.raises(CannotJudgeError, match="no place for the fault"):
        mutations.records(found, mutate, rng=Random(0))


def test_a_file_is_cut_where_it_says():
    data = mutations.write(FOUND)
    for seed in range(30):
        line = mutations.raw(data, mutations.cut_in_a_line, rng=Random(seed))
        number = mutations.raw(data, mutations.cut_in_a_number, rng=Random(seed))
        end = mutations.raw(data, mutations.cut_at_a_line_end, rng=Random(seed))
        assert not line.endswith(b"\n")
        assert data.startswith(line)
        assert line != data[:-1]
        assert number[-1:].isdigit()
        assert data[len(number) : len(number) + 1].isdigit()
        assert end.endswith(b"\n")
        assert end.count(b"\n") in {1, 2}
