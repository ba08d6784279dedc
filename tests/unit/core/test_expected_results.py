"""Which number of a run is compared with an expected result."""

from __future__ import annotations

import pytest

from reprokit.core.verdicts.expected_results import ExpectedWindow, finite_number, over, reached, window_of

READ = {"r": ExpectedWindow(window="mean_last_2", value=4.5)}


def number(window="mean_last_2", *, last=5.0, windowed=READ):
    return reached("r", window, final_values={"r": last}, windowed=windowed)


def test_the_last_value_counts_where_no_window_is_named():
    assert number(window_of({"value": 1.0})) == (5.0, "")
    assert window_of(490.0) == "last"


def test_the_number_over_a_window_counts_where_one_is_named():
    assert number(window_of({"window": "mean_last_2"})) == (4.5, "")


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"windowed": {}}, "was not read over mean_last_2"),
        ({"window": "best_high"}, "was not read over best_high"),
        ({"last": float("nan")}, "ended at nan, which is not a finite number"),
        (
            {"windowed": {"r": ExpectedWindow(window="mean_last_2", problem="it is too short")}},
            "has no mean_last_2: it is too short",
        ),
        (
            {"windowed": {"r": ExpectedWindow(window="mean_last_2", value=float("inf"))}},
            "has no mean_last_2: it is inf, which is not a finite number",
        ),
    ],
)
def test_a_run_without_such_a_number_says_why(options, why):
    assert number(**options) == (None, why)


def test_a_metric_that_was_never_logged_has_none():
    assert reached("x", "last", final_values={"r": 5.0}, windowed={}) == (None, "was never logged")


def test_the_window_is_named_but_for_the_last_value():
    assert (over("last"), over("auc_mean")) == ("", " over auc_mean")


@pytest.mark.parametrize("value", [True, "1", None, float("nan"), float("-inf"), 10**400])
def test_what_is_no_finite_number_is_none(value):
    assert finite_number(value) is None


def test_whole_numbers_are_numbers():
    assert finite_number(3) == 3
