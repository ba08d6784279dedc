"""Expected results over windows, read from metrics files."""

from __future__ import annotations

import pytest

from reprokit.harness.judging.expected_windows import over_windows
from reprokit.recipes import ExpectedResult

CURVE = (100.0, 460.0, 480.0, 470.0, 300.0)


@pytest.fixture
def metrics(tmp_path):
    def write(*values):
        path = tmp_path / "metrics.jsonl"
        lines = (f'{{"step": {10 * at}, "return": {value}}}\n' for at, value in enumerate(values))
        path.write_text("".join(lines))
        return path

    return write


def read(path, window, *, metric="return"):
    (found,) = over_windows(path, {metric: ExpectedResult(value=1.0, rtol=0, atol=0, window=window)}).values()
    assert found.window == window
    return found.value, found.problem


@pytest.mark.parametrize(
    ("window", "value"),
    [
        ("mean_last_2", 385.0),
        ("best_high", 480.0),
        ("auc_mean", (100 / 2 + 460 + 480 + 470 + 300 / 2) / 4),
        ("first_step_at_least_475", 20.0),
    ],
)
def test_the_number_over_a_window_is_that_of_stats(metrics, window, value):
    assert read(metrics(*CURVE), window) == (value, "")


def test_results_at_the_last_value_are_not_read_again(metrics):
    assert over_windows(metrics(*CURVE), {"return": ExpectedResult(value=1.0, rtol=0, atol=0)}) == {}


@pytest.mark.parametrize(
    ("values", "window", "problem"),
    [
        (CURVE, "mean_last_6", "a run has 5 of the 6 values that it takes"),
        (CURVE, "first_step_at_least_500", "it never got there"),
        ((1.0, '"NaN"', 2.0), "mean_last_2", "it also holds 1 non-numeric value"),
        ((1.0, "[", 2.0), "mean_last_2", "1 record cannot be read"),
    ],
)
def test_a_run_without_such_a_number_says_why(metrics, values, window, problem):
    assert read(metrics(*values), window) == (None, problem)


def test_a_metric_that_was_never_logged_has_no_number(metrics):
    assert read(metrics(*CURVE), "mean_last_2", metric="reward") == (None, "no value was recorded")


def test_a_window_that_holds_nan_is_nan(metrics):
    value, problem = read(metrics(1.0, "NaN", 2.0), "mean_last_3")
    assert (str(value), problem) == ("nan", "")


def test_metrics_that_cannot_be_opened_are_a_reason(tmp_path):
    value, problem = read(tmp_path / "metrics.jsonl", "mean_last_3")
    assert value is None
    assert "metrics.jsonl" in problem
