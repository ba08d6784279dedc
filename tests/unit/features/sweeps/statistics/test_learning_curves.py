"""Bands over seeds, against scipy at every step."""

import math

import numpy as np
import pytest
import scipy.stats

from reprokit.features.sweeps.statistics.learning_curves import band

STEPS = np.arange(10.0)


def curves(count, *, seed=0):
    return list(np.random.default_rng(seed).normal(size=(count, 10)))


def test_each_step_is_the_t_interval_of_its_values():
    values = curves(5)
    found = band([STEPS] * 5, values)
    sem = scipy.stats.sem(values)
    expected = scipy.stats.t.interval(0.95, 4, loc=np.mean(values, axis=0), scale=sem)
    assert (found.low, found.high) == (pytest.approx(expected[0]), pytest.approx(expected[1]))
    assert found.std == pytest.approx(np.std(values, axis=0, ddof=1))
    assert (found.num_seeds, found.num_steps_left_out, found.num_not_finite) == (5, 0, 0)


def test_only_steps_that_all_seeds_have_count_and_the_others_are_counted():
    found = band(
        [np.array([1.0, 2, 3]), np.array([2.0, 3, 4])], [np.array([1.0, 2, 3]), np.array([4.0, 5, 6])]
    )
    assert found.steps.tolist() == [2, 3]
    assert found.mean.tolist() == [3, 4]
    assert found.num_steps_left_out == 2


def test_of_a_step_that_comes_twice_the_last_value_counts():
    found = band([np.array([1.0, 2, 2])] * 2, [np.array([1.0, 2, 3]), np.array([1.0, 2, 5])])
    assert (found.steps.tolist(), found.mean.tolist()) == ([1, 2], [1, 4])


def test_the_order_of_records_does_not_matter():
    values = curves(3)
    backwards = band([STEPS[::-1]] * 3, [one[::-1] for one in values])
    assert backwards.mean == pytest.approx(band([STEPS] * 3, values).mean)
    assert backwards.steps.tolist() == STEPS.tolist()


@pytest.mark.parametrize("odd", [math.nan, math.inf])
def test_a_value_that_is_not_finite_leaves_a_gap(odd):
    values = curves(3)
    values[1][4] = odd
    found = band([STEPS] * 3, values)
    assert np.flatnonzero(np.isnan(found.mean)).tolist() == [4]
    assert np.isnan(found.low[4])
    assert found.num_not_finite == 1


def test_one_seed_has_a_curve_and_no_band():
    found = band([STEPS], curves(1))
    assert np.isfinite(found.mean).all()
    assert np.isnan(found.low).all()
    assert np.isnan(found.std).all()


def test_seeds_without_a_common_step_have_no_curve():
    found = band([np.array([1.0]), np.array([2.0])], [np.array([1.0]), np.array([2.0])])
    assert (len(found.steps), len(found.mean), found.num_steps_left_out) == (0, 0, 2)
