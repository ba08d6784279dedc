"""Seeds and grids of settings as they are typed."""

from __future__ import annotations

import pytest

from reprokit.errors import UsageError
from reprokit.harness.sweeping import parse_seeds, settings_grid


@pytest.mark.parametrize(
    ("text", "declared", "seeds"),
    [
        (None, (42, 7), (42, 7)),
        ("42,123", (7,), (42, 123)),
        ("42,", (7,), (42,)),
        (" 1, 2 ", (7,), (1, 2)),
        ("0..3", (7,), (0, 1, 2, 3)),
        ("5..5", (7,), (5,)),
        ("1", (42, 7), (42,)),
        ("2", (42, 7), (42, 7)),
        ("4", (42, 7), (42, 7, 43, 44)),
        ("3", (), (0, 1, 2)),
    ],
)
def test_seeds_are_a_list_a_range_a_number_or_the_recipes_own(text, declared, seeds):
    assert parse_seeds(text)(declared) == seeds


@pytest.mark.parametrize(
    "text",
    ["", ",", "a", "1,a", "-1", "1.5", "3..1", "1..", "0", "1,1", f"{2**32},", "0..20000", "20000", "1;2"],
)
def test_what_is_no_list_of_seeds_is_a_usage_error(text):
    with pytest.raises(UsageError, match="--seeds"):
        parse_seeds(text)


@pytest.mark.parametrize(
    ("typed", "grid"),
    [
        ([], [()]),
        (["a=1"], [("a=1",)]),
        (["a=1,2", "b=x, y"], [("a=1", "b=x"), ("a=1", "b=y"), ("a=2", "b=x"), ("a=2", "b=y")]),
        (["a=[1,2],[3]"], [("a=[1,2]",), ("a=[3]",)]),
        (["a='x,y',z"], [("a='x,y'",), ("a=z",)]),
        (["a={b: 1, c: 2}"], [("a={b: 1, c: 2}",)]),
        (["nonsense"], [("nonsense",)]),
    ],
)
def test_every_combination_of_the_values_is_a_setting(typed, grid):
    assert settings_grid(typed) == grid


@pytest.mark.parametrize("typed", ["a=1,", "a=,1", "a=1,,2"])
def test_a_comma_too_many_is_a_usage_error(typed):
    with pytest.raises(UsageError, match="next to a comma"):
        settings_grid([typed])


def test_a_grid_that_nobody_can_run_is_a_usage_error():
    values = ",".join(map(str, range(200)))
    with pytest.raises(UsageError, match="combinations"):
        settings_grid([f"a={values}", f"b={values}"])
