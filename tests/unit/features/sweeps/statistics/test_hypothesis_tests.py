"""Tests against scipy and statsmodels, and the power that stands next to each."""

import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.oneway import anova_oneway
from statsmodels.stats.oneway import test_scale_oneway as scale_oneway
from statsmodels.stats.power import TTestIndPower
from statsmodels.stats.weightstats import ttest_ind

from reprokit.core.statistics.measured import POWER
from reprokit.features.sweeps.statistics import hypothesis_tests as tests

FIRST, SECOND = [489.5, 495.6, 482.1, 487.9, 488.4], [500.0, 498.2, 499.1, 470.3, 490.0, 493.5]
WHOLE = st.integers(-4, 4).map(float)


def by_name(results):
    return {one.name: one for one in results}


def test_shapiro_wilk_is_scipys():
    found, expected = tests.shapiro_wilk(FIRST), scipy.stats.shapiro(FIRST)
    assert (found.statistic, found.p_value) == pytest.approx((expected.statistic, expected.pvalue))
    assert found.power == POWER["shapiro_wilk"][5] < 0.25


def test_brown_forsythe_and_levene_are_statsmodels():
    found = by_name(tests.equal_variances(FIRST, SECOND))
    for name, centre in (("brown_forsythe", "median"), ("levene", "mean")):
        expected = scale_oneway([FIRST, SECOND], method="equal", center=centre, transform="abs")
        assert (found[name].statistic, found[name].p_value) == pytest.approx(
            (expected.statistic, expected.pvalue)
        )
        assert found[name].power == POWER[name][5]


def test_both_t_tests_are_statsmodels():
    found = by_name(tests.equal_means(FIRST, SECOND))
    for name, kind in (("t", "pooled"), ("welch", "unequal")):
        statistic, p_value, _ = ttest_ind(FIRST, SECOND, usevar=kind)
        assert (found[name].statistic, found[name].p_value) == pytest.approx((statistic, p_value))
    assert anova_oneway([FIRST, SECOND], use_var="unequal").pvalue == pytest.approx(found["welch"].p_value)


@settings(max_examples=40, deadline=None)
@given(st.lists(WHOLE, min_size=2, max_size=5), st.lists(WHOLE, min_size=2, max_size=5))
def test_mann_whitney_is_scipys_exact_test_with_ties_too(first, second):
    """With ties scipy has no exact formula, but its permutations of the statistic."""
    found = tests.mann_whitney(first, second)
    expected = scipy.stats.permutation_test(
        (first, second),
        lambda one, other, axis: scipy.stats.rankdata(np.concatenate([one, other], axis=axis), axis=axis)[
            ..., : len(first)
        ].sum(axis=axis),
        n_resamples=np.inf,
        vectorized=True,
    )
    statistic = scipy.stats.mannwhitneyu(first, second, method="asymptotic").statistic
    assert found.statistic == pytest.approx(statistic)
    assert found.p_value == pytest.approx(expected.pvalue)
    assert found.p_value >= found.smallest_p_value * (1 - 1e-9)


def test_without_ties_mann_whitney_is_scipys_formula():
    found = tests.mann_whitney(FIRST, SECOND)
    expected = scipy.stats.mannwhitneyu(FIRST, SECOND, method="exact")
    assert (found.statistic, found.p_value) == pytest.approx((expected.statistic, expected.pvalue))


def test_many_seeds_take_the_normal_approximation_and_say_so():
    first, second = np.arange(40.0), np.arange(40.0) + 3.5
    found = tests.mann_whitney(first, second)
    assert found.p_value == pytest.approx(scipy.stats.mannwhitneyu(first, second, method="asymptotic").pvalue)
    assert found.note == "by the normal approximation"


def test_three_against_three_cannot_reach_five_percent():
    found = tests.mann_whitney([1.0, 2, 3], [11.0, 12, 13])
    assert found.p_value == found.smallest_p_value == pytest.approx(0.1)
    assert found.power == 0.0


@pytest.mark.parametrize(("first", "second"), [(3, 3), (5, 5), (5, 20), (2, 2), (30, 12)])
@pytest.mark.parametrize("effect", [0.5, 1.0, 2.0])
def test_the_power_of_the_t_test_is_statsmodels(first, second, effect):
    expected = TTestIndPower().power(effect, nobs1=first, alpha=0.05, ratio=second / first)
    assert tests.t_power(first, second, effect=effect) == pytest.approx(expected, abs=1e-6)


def test_one_seed_has_no_power():
    assert tests.t_power(1, 5, effect=1.0) is None


@pytest.mark.parametrize(("count", "shift"), [(5, 1.0), (10, 1.0)])
def test_the_simulated_power_is_what_another_simulation_finds(count, shift):
    drawing, draws = np.random.default_rng(count), 1500
    first, second = drawing.normal(size=(2, draws, count))
    p_values = scipy.stats.mannwhitneyu(first, second + shift, axis=1, method="exact").pvalue
    quoted = POWER["mann_whitney"][count]
    assert np.mean(p_values <= 0.05) == pytest.approx(quoted, abs=0.01 + 4 * math.sqrt(0.25 / draws))


# What they refuse, and what does not matter


@pytest.mark.parametrize(
    ("run", "words"),
    [
        (lambda: [tests.shapiro_wilk([1.0, 2.0])], "2 of the 3 seeds"),
        (lambda: [tests.shapiro_wilk([1.0, 2.0, math.nan])], "not finite"),
        (lambda: [tests.shapiro_wilk([5.0] * 4)], "zero variance"),
        (lambda: tests.equal_variances(FIRST, [1.0, 2]), "2 of the 3 seeds"),
        (lambda: tests.equal_variances([1.0] * 3, [2.0] * 3), "zero variance"),
        (lambda: tests.equal_variances([1.0, 2], [1.0, 2, 3]), "2 of the 3 seeds"),
        (lambda: tests.equal_means(FIRST, [1.0]), "1 of the 2 seeds"),
        (lambda: tests.equal_means([1.0] * 3, [2.0] * 3), "zero variance"),
        (lambda: [tests.mann_whitney([], FIRST)], "there is no seed"),
        (lambda: [tests.mann_whitney([math.inf], FIRST)], "not finite"),
    ],
)
def test_what_cannot_be_tested_says_why(run, words):
    for found in run():
        assert (found.statistic, found.p_value, found.power if found.name != "t" else None) == (None,) * 3
        assert words in found.refused


def test_equal_distances_from_the_centre_are_refused():
    for found in tests.equal_variances([0.0, 1.0, 0.0, 1.0], [10.0, 13.0, 10.0, 13.0]):
        assert (found.p_value, found.refused) == (None, "all distances from the centre are equal")


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_the_scale_of_a_metric_does_not_matter(scale):
    first, second = ([one * scale for one in side] for side in (FIRST, SECOND))
    for one, other in zip(tests.equal_means(first, second), tests.equal_means(FIRST, SECOND), strict=True):
        assert one.p_value == pytest.approx(other.p_value)
    assert tests.shapiro_wilk(first).p_value == pytest.approx(tests.shapiro_wilk(FIRST).p_value)


def test_thousands_of_values_are_said_to_be_too_many():
    found = tests.shapiro_wilk(np.random.default_rng(0).normal(size=4000))
    assert found.note == ""
    assert tests._ACCURATE_SHAPIRO == 5000


def test_one_group_of_a_single_value_is_tested_without_a_warning_of_scipy():
    for found in tests.equal_means([2.0, 3.0, 2.0], [9.0, 9.0, 9.0]):
        assert 0 < found.p_value < 0.01
