"""The coefficient of variation and the reproducibility score, and where they mean nothing."""

import math

import numpy as np
import pytest
import scipy.stats

from reprokit.features.sweeps.statistics.variability import LIMITS, variability

SEEDS = [489.5, 495.6, 482.1, 487.9, 488.4]


def test_the_score_is_that_of_the_document():
    """numpy's standard deviation, which divides by n, over the mean; reproducible below 0.01."""
    found = variability(SEEDS)
    assert found.score == pytest.approx(np.std(SEEDS) / np.mean(SEEDS))
    assert (found.is_reproducible, found.is_stable) == (True, True)
    assert found.notes == ()


def test_the_coefficient_of_variation_is_scipys_with_n_minus_1():
    found = variability(SEEDS)
    assert found.coefficient_of_variation == pytest.approx(scipy.stats.variation(SEEDS, ddof=1))
    assert found.coefficient_of_variation > found.score


def test_the_interval_of_the_standard_deviation_is_that_of_the_chi_squared_distribution():
    found = variability(SEEDS)
    spread = np.var(SEEDS, ddof=1) * 4
    expected = np.sqrt(spread / scipy.stats.chi2.ppf([0.975, 0.025], 4))
    assert (found.std_low, found.std_high) == pytest.approx(tuple(expected))


def test_that_interval_holds_the_standard_deviation_as_often_as_it_says():
    draws = np.random.default_rng(0).normal(size=(1000, 4))
    found = [variability(one) for one in draws]
    share = np.mean([one.std_low <= 1 <= one.std_high for one in found])
    assert share == pytest.approx(0.95, abs=4 * math.sqrt(0.05 * 0.95 / 1000))


@pytest.mark.parametrize(
    ("values", "reproducible", "stable"),
    [([100.0, 103.0], False, True), ([100.0, 140.0], False, False), ([-200.0, -199.0], True, True)],
)
def test_limits_are_held_by_the_size_of_the_score(values, reproducible, stable):
    found = variability(values)
    assert (found.is_reproducible, found.is_stable) == (reproducible, stable)


def test_a_mean_below_zero_makes_no_spread_reproducible():
    """As it is usually computed, -0.3 is below 0.01, so every return below 0 passes."""
    found = variability([-100.0, -200.0])
    assert found.score < 0.01
    assert found.is_reproducible is False
    assert found.coefficient_of_variation > 0
    assert found.notes == ("the mean is below 0: the score as it is usually computed passes every tolerance",)


def test_values_of_either_sign_have_no_meaningful_score():
    assert "either sign" in variability([-1.0, 2.0]).notes[0]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([1.0], "one seed has no spread"),
        ([-1.0, 1.0], "the mean is 0"),
        ([1.0, math.nan], "not finite"),
        ([1.7e308, 1.7e308, 1.6e308], "does not fit"),
    ],
)
def test_where_there_is_no_score_it_says_why(values, words):
    found = variability(values)
    assert (found.score, found.coefficient_of_variation, found.is_reproducible) == (None, None, None)
    assert words in found.refused


def test_zero_variance_is_said():
    found = variability([500.0] * 5)
    assert (found.score, found.is_reproducible) == (0.0, True)
    assert found.notes == ("zero variance: all 5 seeds have the same value",)


def test_it_says_what_it_does_not_say():
    assert "reprokit reproduce" in LIMITS[0]
    assert variability([one + 1000 for one in SEEDS]).score < variability(SEEDS).score  # LIMITS[1]
