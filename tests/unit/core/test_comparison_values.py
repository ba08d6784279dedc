# ruff: noqa: E501  a row is a case
# fmt: off
"""One pair of JSON values: equal or not, how far apart."""

import math
import sys

import numpy as np
import pytest

from reprokit.core import json_values
from reprokit.core.json_values import MISSING

NAN, INF = math.nan, math.inf


def deep(levels):
    value = [1.0]
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        (1, 1.0),
        (NAN, NAN),
        (INF, INF),
        (-0.0, -0.0),
        (2**70, 2**70),
        ("a", "a"),
        (None, None),
        ([1], [1.0]),
        ({}, {}),
    ],
)
def test_values_that_are_equal(expected, actual):
    assert json_values.equal(expected, actual)
    assert json_values.equal(actual, expected)


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        (0.0, -0.0), (0, -0.0), (True, 1), (False, 0), (None, 0), (None, NAN), ("1", 1), (2**53 + 1, 2.0**53),
        (INF, -INF), (NAN, 0.0), ([], {}), ([1], [1, 2]), ({"a": 1}, {"b": 1}), ("", None), (None, MISSING),
        ("e\u0301", "\u00e9"),
    ],
)
def test_values_that_are_not_equal(expected, actual):
    assert not json_values.equal(expected, actual)
    assert not json_values.equal(actual, expected)


def test_nesting_has_no_limit():
    depth = sys.getrecursionlimit() * 10
    assert json_values.equal(deep(depth), deep(depth))
    assert not json_values.equal(deep(depth), deep(depth + 1))


def test_a_place_inside_is_named():
    leaves = list(json_values.leaves({"a": [1, {"b": 2}]}, {"a": [1, {"b": 3}], "c": 4}))
    assert leaves == [(".a[0]", 1, 1), (".a[1].b", 2, 3), (".c", MISSING, 4)]


def test_something_that_json_does_not_have_is_refused():
    with pytest.raises(TypeError, match="not a JSON value: set"):
        json_values.kind({1})


def test_a_float_subclass_is_a_number():
    assert json_values.kind(np.float64(1.0)) == "number"
    assert json_values.equal(np.float64(0.5), 0.5)


@pytest.mark.parametrize(
    ("expected", "actual", "error"),
    [
        (1.0, 1.5, 0.5), (2**53, 2**53 + 1, 1.0), (0.0, -0.0, 0.0), (INF, INF, 0.0), (INF, 1.0, INF),
        (10**400, 0, INF), (10**400, 0.5, INF), (NAN, 1.0, None), (NAN, NAN, None), ("a", 1, None), (True, 1, None),
        (MISSING, 1.0, None),
    ],
)
def test_absolute_errors(expected, actual, error):
    assert json_values.absolute_error(expected, actual) == error


@pytest.mark.parametrize(
    ("expected", "actual", "error"),
    [
        (2.0, 3.0, 0.5), (0.0, 0.0, None), (0.0, 1.0, None), (4, 4, 0.0), (INF, INF, None), (1.0, INF, INF),
        (10**400, 2 * 10**400, 1.0), (5e-324, 1.0, INF), (NAN, 1.0, None), (1, 10**400, INF), (2**53 + 2, 2**53 + 3, 1 / (2**53 + 2)), (10**30, 10**30 + 10**15, 1e-15),
    ],
)
def test_relative_errors(expected, actual, error):
    assert json_values.relative_error(expected, actual) == error


@pytest.mark.parametrize(
    ("expected", "actual", "distance"),
    [
        (1.0, math.nextafter(1.0, 2.0), 1), (0.0, 5e-324, 1), (-5e-324, 5e-324, 2), (0.0, -0.0, 0), (1, 1.0, 0),
        (1.0, INF, None), (NAN, 1.0, None), (1, 2, None), (2**53 + 1, 2.0**53, None), ("a", 1.0, None),
        (sys.float_info.max, -sys.float_info.max, 2 * 0x7FEFFFFFFFFFFFFF),
    ],
)
def test_units_in_the_last_place(expected, actual, distance):
    assert json_values.ulps(expected, actual) == distance
    assert json_values.ulps(actual, expected) == distance


@pytest.mark.parametrize(
    ("expected", "actual", "sentence"),
    [
        (1.0, MISSING, "missing in actual"), (MISSING, None, "missing in expected"),
        (1.0, "1", "type: expected a number, actual a string"), (NAN, 1.0, "only expected is NaN"),
        (1.0, INF, "only actual is infinite"), (INF, -INF, "the values differ"), (0.0, -0.0, "the sign of zero differs"),
        ("a", "b", "the strings differ"), (True, False, "the booleans differ"),
    ],
)
def test_a_difference_is_put_into_words(expected, actual, sentence):
    assert json_values.describe(expected, actual) == sentence


def test_what_is_shown_is_cut_only_beyond_the_limit():
    assert json_values.shown("x" * 58) == "'" + "x" * 58 + "'"
    assert json_values.shown("x" * 59) == "'" + "x" * 59 + "…"
    assert json_values.shown("x" * 8, limit=4) == "'xxx…"
    assert json_values.shown(2**12_999).startswith("1227195")
    assert json_values.shown(2**13_000) == "an integer of 13001 bits"
    assert (json_values.shown([1, 2]), json_values.shown(())) == ("an array of 2", "an array of 0")


def test_anything_can_be_shown_shortly():
    assert json_values.shown(10**5000) == "an integer of 16610 bits"
    assert json_values.shown(0.1) == "0.1"
    assert len(json_values.shown("x" * 10**6)) <= 61
    assert json_values.shown({"a": deep(5000)}) == "an object of 1"
