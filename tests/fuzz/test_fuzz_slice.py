"""A few of each fuzzer's inputs, the same ones each time; `make fuzz` tries as many as there is time for."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from fuzz.__main__ import TARGETS
from fuzz.target import Tally, try_one


@pytest.mark.parametrize("name", TARGETS)
def test_no_input_ends_a_parser_otherwise_than_on_purpose(name):
    target, tally = TARGETS[name], Tally()
    how = settings(
        max_examples=target.slice_examples,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    how(given(target.inputs)(lambda one: try_one(target, one, tally=tally)))()
    assert tally.read, "none of the inputs was read: the fuzzer does not get past the first check"
