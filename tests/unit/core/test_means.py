"""Means of consecutive values: what the rule sees, what it cannot, and what it never forgives."""

from __future__ import annotations

import math
import random

import pytest

from reprokit.core.comparing.means import AnyNumber, apart, judge
from reprokit.core.comparison import compare_records
from reprokit.core.tolerance import Tolerance, Tolerances
from reprokit.core.verdicts.agreement import difference
from reprokit.errors import UsageError

TENS = Tolerance(rtol=0.01, mean_of=10)
CURVE = [1.0 + 0.01 * at for at in range(45)]


def records(values, name="loss"):
    return [{"step": 10 * at, name: value, "other": 1.0} for at, value in enumerate(values)]


def compared(expected, actual, tolerance=TENS):
    granted = Tolerances(metrics={"loss": tolerance})
    comparison = compare_records(expected, actual, tolerances=AnyNumber(granted=granted))
    return judge(comparison, expected, actual, tolerances=granted)


def noisy(values, *, size=0.2):
    """The same means in every window of ten, other values."""
    moved = list(values)
    for at in range(0, len(moved) - 1, 2):
        moved[at], moved[at + 1] = moved[at] + size, moved[at + 1] - size
    return moved


def test_noise_around_the_same_means_is_approximately_equal_and_never_exactly():
    found = compared(records(CURVE), records(noisy(CURVE)))
    assert (found.within_tolerance, found.identical, found.divergence) == (True, False, None)


@pytest.mark.parametrize("shift", [0.02, -0.02])
def test_a_shifted_metric_is_off_from_the_first_window_on(shift):
    found = compared(records(CURVE), records([value * (1 + shift) for value in CURVE]))
    assert not found.within_tolerance
    assert (found.divergence.step, found.divergence.metric) == (0, "loss")
    assert found.divergence.what == "the means of 10 consecutive values differ"
    assert found.per_metric["loss"].mismatches == 5  # 45 values are five windows
    assert difference(found).endswith("(the means of 10 consecutive values differ)")


def test_a_shift_within_the_tolerance_is_forgiven():
    assert compared(records(CURVE), records([value * 1.005 for value in CURVE])).within_tolerance


def test_a_drift_that_the_mean_of_all_hides_is_seen():
    drift = [value + 0.1 * (at - 22) / 22 for at, value in enumerate(CURVE)]
    whole = Tolerance(rtol=0.01, mean_of=45)
    assert compared(records(CURVE), records(drift), whole).within_tolerance
    assert not compared(records(CURVE), records(drift)).within_tolerance


def test_the_last_value_is_judged_though_its_window_is_short():
    short = CURVE[:41]
    found = compared(records(short), records([*short[:40], short[40] * 1.02]))
    assert (found.within_tolerance, found.divergence.step) == (False, 400)


def test_values_shuffled_over_the_series_are_seen_and_those_shuffled_in_a_window_are_not():
    shuffled = random.Random(7).sample(CURVE, len(CURVE))
    assert not compared(records(CURVE), records(shuffled)).within_tolerance
    turned = [value for start in range(0, 45, 10) for value in reversed(CURVE[start : start + 10])]
    assert compared(records(CURVE), records(turned)).within_tolerance


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, "1.0", None, True, [1.0], 1e308 * 10])
def test_what_is_no_finite_number_is_never_forgiven(value):
    actual = records(noisy(CURVE))
    actual[3]["loss"] = value
    assert not compared(records(CURVE), actual).within_tolerance


@pytest.mark.parametrize("value", [math.nan, math.inf, [1.0]])
def test_not_even_where_the_golden_has_the_same(value):
    expected, actual = records(CURVE), records(noisy(CURVE))
    expected[20]["loss"] = actual[20]["loss"] = value
    found = compared(expected, actual)
    assert (found.within_tolerance, found.divergence.record) == (False, 20)


@pytest.mark.parametrize("lose", [0, 20, 44])
def test_a_lost_record_and_a_lost_value_are_differences(lose):
    actual = records(noisy(CURVE))
    assert not compared(records(CURVE), actual[:lose] + actual[lose + 1 :]).within_tolerance
    del actual[lose]["loss"]
    assert not compared(records(CURVE), actual).within_tolerance


def test_other_metrics_stay_exact():
    actual = records(noisy(CURVE))
    actual[7]["other"] = math.nextafter(1.0, 2.0)
    found = compared(records(CURVE), actual)
    assert (found.within_tolerance, found.divergence.metric) == (False, "other")


def test_sums_that_overflow_are_off():
    huge = [1.7e308] * 10
    assert not compared(records(huge), records([1.6e308] * 10)).within_tolerance


def test_series_of_two_lengths_are_apart_where_the_shorter_ends():
    found = list(apart([1.0] * 20, [1.0] * 15, tolerance=TENS))
    assert [(one.start, one.what) for one in found] == [(10, "10 values expected, 5 found")]


def test_a_wider_tolerance_never_adds_a_window():
    moved = [value * random.Random(at).uniform(0.9, 1.1) for at, value in enumerate(CURVE)]
    widths = [0.001, 0.01, 0.02, 0.05, 0.2]
    counts = [len(list(apart(CURVE, moved, tolerance=Tolerance(rtol=width, mean_of=5)))) for width in widths]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > 0 == counts[-1]


@pytest.mark.parametrize("size", [0, -1, 1.0, True, "10", None])
def test_a_number_of_values_that_is_none_is_refused(size):
    with pytest.raises(UsageError, match="mean_of"):
        Tolerance(rtol=0.1, mean_of=size)


def test_means_without_a_tolerance_are_refused():
    with pytest.raises(UsageError, match="mean_of"):
        Tolerance(mean_of=10)


def test_who_does_not_know_means_holds_every_value_to_the_tolerance():
    granted = Tolerances(metrics={"loss": TENS})
    assert not compare_records(records(CURVE), records(noisy(CURVE)), tolerances=granted).within_tolerance


def test_records_without_the_metric_are_passed_over_and_do_not_shift_its_windows():
    sparse = [{"step": at, **({"loss": CURVE[at // 2]} if at % 2 else {})} for at in range(90)]
    moved = [dict(record) for record in sparse]
    moved[89]["loss"] *= 1.2
    assert compared(sparse, sparse).identical
    found = compared(sparse, moved)
    assert (found.within_tolerance, found.divergence.record, found.divergence.step) == (False, 81, 81)
