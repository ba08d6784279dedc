"""Probability of improvement and performance profiles, by the definitions that rliable publishes."""

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from reprokit.features.sweeps.statistics import between_recipes as between

SCORES = st.lists(st.integers(-4, 4).map(float), min_size=1, max_size=8).map(np.array)


def generator(seed=0):
    return np.random.default_rng(seed)


def rliable_probability(first, second):
    """Mean over tasks of the Mann–Whitney U statistic divided by the number of pairs."""
    shares = [
        scipy.stats.mannwhitneyu(one, other, method="asymptotic").statistic / (len(one) * len(other))
        for one, other in zip(first, second, strict=True)
    ]
    return np.mean(shares)


def rliable_profile(tasks, thresholds):
    """Share of all runs of all tasks above each threshold; rliable has as many runs of each task."""
    return [np.mean(np.ravel(tasks) > threshold) for threshold in thresholds]


def probability(first, second, **options):
    return between.probability_of_improvement(first, second, generator=generator(), **options)


@settings(max_examples=50, deadline=None)
@given(SCORES, SCORES)
def test_the_probability_counts_pairs(first, second):
    pairs = [(one > other) + (one == other) / 2 for one in first for other in second]
    assert probability([first], [second]).probability == pytest.approx(np.mean(pairs))


def test_over_several_tasks_it_is_rliables():
    first, second = generator(1).normal(size=(4, 10)) + 0.3, generator(2).normal(size=(4, 10))
    found = probability(list(first), list(second))
    assert found.probability == pytest.approx(rliable_probability(first, second))
    assert 0 < found.low < found.probability < found.high < 1


@settings(max_examples=30, deadline=None)
@given(SCORES, SCORES)
def test_both_directions_add_up_to_one(first, second):
    assert probability([first], [second]).probability + probability(
        [second], [first]
    ).probability == pytest.approx(1)


def test_its_interval_is_the_bootstrap_of_that_number():
    first, second = generator(3).normal(size=12), generator(4).normal(size=14)
    found = probability([first], [second], num_resamples=400)
    drawing = generator()
    drawn = [one[drawing.integers(0, len(one), size=(400, len(one)))] for one in (first, second)]
    expected = [rliable_probability([one], [other]) for one, other in zip(*drawn, strict=True)]
    assert (found.low, found.high) == pytest.approx(np.quantile(expected, [0.025, 0.975]))


def test_few_seeds_have_the_probability_without_an_interval():
    found = probability([np.array([1.0, 2, 3])], [np.arange(20.0)])
    assert (found.low, found.high, found.refused) == (None, None, "")
    assert found.no_interval == "with 3 seeds a bootstrap interval covers 75% instead of 95%"
    one = probability([np.array([1.0])], [np.array([0.0])])
    assert (one.probability, one.low) == (1.0, None)


def test_a_value_that_is_not_finite_is_refused():
    found = probability([np.array([np.nan, 1.0])], [np.array([1.0])])
    assert (found.probability, found.refused) == (None, "1 of 3 values are not finite (nan)")
    with pytest.raises(ValueError, match="not finite"):
        between.performance_profile([np.array([np.inf])], np.zeros(1), generator=generator())


def test_the_profile_is_rliables():
    tasks, thresholds = generator(5).normal(size=(3, 12)), np.linspace(-2, 2, 9)
    found = between.performance_profile(list(tasks), thresholds, generator=generator())
    assert found.shares == pytest.approx(rliable_profile(tasks, thresholds))
    assert (np.diff(found.shares) <= 0).all()
    assert (found.low <= found.shares).all()
    assert (found.shares <= found.high).all()


def test_a_score_at_the_threshold_is_not_above_it():
    scores = [np.array([1.0, 2.0, 2.0, 3.0])]
    found = between.performance_profile(scores, np.array([2.0, 1.999]), generator=generator())
    assert found.shares.tolist() == [0.25, 0.75]
    assert (found.low, found.high) == (None, None)
    assert "with 4 seeds" in found.no_interval


def test_one_seed_of_the_generator_gives_one_interval():
    values = [generator(1).normal(size=12)], [generator(2).normal(size=12)]
    assert probability(*values) == probability(*values)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda first, second: np.mean([one >= other for one in first for other in second]),
        lambda first, second: np.mean([one > other for one in first for other in second]),
        lambda first, second: float(np.mean(first) > np.mean(second)),
    ],
)
def test_a_wrong_formula_would_be_noticed(wrong):
    first, second = np.array([1.0, 2, 2, 5]), np.array([1.0, 2, 3])
    assert wrong(first, second) != pytest.approx(rliable_probability([first], [second]))


def test_an_interval_of_no_width_is_refused():
    low, high = np.arange(12.0), np.arange(20.0, 32.0)
    for sides, expected in (((low, high), 0.0), ((high, low), 1.0)):
        found = probability([sides[0]], [sides[1]])
        assert (found.probability, found.low, found.high) == (expected, None, None)
        assert "no width" in found.no_interval
