from __future__ import annotations

import math
from typing import Any

import pytest

from reprokit.reports.format_values import error_text, facts_of, json_number, spelt, value_text


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.1, "0.1"),
        (-0.0, "-0.0"),
        (1e-300, "1e-300"),
        (0.012345678901234567, "0.012345678901234567"),
        (3, "3"),
        (True, "true"),
        (None, "(none)"),
        ("0.1", '"0.1"'),
        (math.nan, "NaN"),
        ("NaN", "NaN"),
        (-math.inf, "-Infinity"),
        ([1, {"a": 2}], '[1, {"a": 2}]'),
        ("\x1b[31m", r'"\u001b[31m"'),
    ],
)
def test_a_value_is_spelt_in_full_and_strings_are_told_from_numbers(value: Any, shown: str) -> None:
    assert value_text(value) == shown


def test_an_integer_too_long_for_decimals_is_hexadecimal() -> None:
    assert json_number(10**5000) == hex(10**5000)
    assert json_number(10**300) == 10**300
    assert value_text(10**5000).startswith("0x")


def test_nesting_without_end_is_named_instead_of_followed() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]

    assert spelt(deep) == "(too deep or too long to show)"


@pytest.mark.parametrize(
    ("error", "shown"),
    [
        (None, ""),
        (0.0, "0"),
        (1.7347e-18, "1.73e-18"),
        (math.nan, "NaN"),
        ("Infinity", "Infinity"),
        (1e300, "1e+300"),
    ],
)
def test_an_error_has_three_digits(error: Any, shown: str) -> None:
    assert error_text(error) == shown


def test_facts_are_flat_and_carry_their_units() -> None:
    record = {
        "phases": {"train": 9.874},
        "runs": [{"duration_s": 1.5, "steps_per_s": 15_000.4}],
        "memory_bytes": 8 << 30,
        "small_bytes": 12,
        "empty": {},
        "list": [1, 2],
    }

    assert facts_of(record) == (
        ("phases.train", "9.87 s"),
        ("runs.1.duration_s", "1.50 s"),
        ("runs.1.steps_per_s", "15,000 per second"),
        ("memory_bytes", "8.0 GiB"),
        ("small_bytes", "12 bytes"),
        ("empty", "{}"),
        ("list", "[1, 2]"),
    )


def test_an_empty_record_has_no_facts() -> None:
    assert facts_of({}) == ()
