"""Settings ranked by one metric: order, paired differences, and p-values for all that was compared."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats

from reprokit.features.sweeps.statistics.ranking import holm, paired, rank


def settings(*rows):
    return [dict(enumerate(row)) for row in rows]


@pytest.mark.parametrize(("higher", "order"), [(True, (1, 0, 2)), (False, (2, 0, 1))])
def test_the_best_stands_first(higher, order):
    found = rank(settings([2, 3], [8, 9], [1, 1]), higher_is_better=higher)
    assert found.order == order
    assert set(found.differences) == set(order[1:])


def test_means_that_are_equal_but_for_rounding_share_a_rank_and_differ_by_zero():
    found = rank(settings([0.1, 0.2, 0.3], [0.5, 0.5, 0.5], [0.3, 0.1, 0.2]), higher_is_better=True)
    assert (found.order, found.ranks) == ((1, 0, 2), (1, 2, 2))
    tied = rank(settings([0.3, 0.1, 0.2], [0.1, 0.2, 0.3], [0.0, 0.0, 0.0]), higher_is_better=True)
    assert (tied.order, tied.ranks, tied.differences[1].mean) == ((0, 1, 2), (1, 1, 3), 0.0)
    apart = rank(settings([0.3, 0.1], [0.3, 0.1 + 1e-9]), higher_is_better=True)
    assert (apart.order, apart.ranks) == ((1, 0), (1, 2))


def test_a_difference_is_that_of_equal_seeds():
    values = settings([1.0, 5.0, 9.0, 13.0], [1.5, 5.6, 9.4, 13.7])
    (found,) = rank(values, higher_is_better=True).differences.values()
    theirs = scipy.stats.ttest_rel([1.0, 5.0, 9.0, 13.0], [1.5, 5.6, 9.4, 13.7])
    assert found.mean == pytest.approx(-0.55)
    assert (found.p_value, found.corrected) == (pytest.approx(theirs.pvalue), pytest.approx(theirs.pvalue))
    interval = theirs.confidence_interval()
    assert (found.low, found.high) == (pytest.approx(interval.low), pytest.approx(interval.high))
    assert found.p_value < 0.01 < scipy.stats.ttest_ind(*(list(one.values()) for one in values)).pvalue


def test_only_seeds_that_both_have_count():
    found = paired({1: 2.0, 2: 4.0, 3: 9.0}, {2: 1.0, 3: 5.0, 4: 7.0})
    assert (found.seeds, found.mean) == ((2, 3), 3.5)
    assert paired({1: 2.0}, {2: 1.0}).refused == "no seed in common"
    alone = paired({1: 2.0}, {1: 1.0})
    assert (alone.mean, alone.low, alone.p_value) == (1.0, None, None)


def test_equal_settings_are_no_evidence_and_a_constant_difference_has_no_interval():
    assert paired({1: 0.1, 2: 0.3}, {1: 0.1, 2: 0.3}).p_value == 1.0
    constant = paired({1: 1.1, 2: 1.3}, {1: 0.1, 2: 0.3})
    assert (constant.mean, constant.low, constant.p_value) == (pytest.approx(1.0), None, None)


def test_a_setting_with_a_number_that_is_not_finite_is_not_ranked():
    found = rank([{1: 1.0}, {1: math.nan}, {}, {1: 2.0}], higher_is_better=True)
    assert found.order == (3, 0)


def test_p_values_are_corrected_as_holm_says():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


def test_equal_settings_hardly_ever_look_different_however_many_there_are():
    generator = np.random.default_rng(0)
    alarms = 0
    for _ in range(1000):
        seeds = generator.normal(0, 3, 5)
        rows = [seeds + generator.normal(0, 1, 5) for _ in range(6)]
        found = rank(settings(*rows), higher_is_better=True)
        assert found.num_comparisons == 15
        alarms += any(one.corrected <= 0.05 for one in found.differences.values())
    assert alarms <= 50
