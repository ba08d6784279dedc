"""Exact intervals of shares, against scipy's, and how many runs a bound needs."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta

from reprokit.core.statistics.shares import at_most, runs_for, runs_to_see, share_interval


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 400).flatmap(lambda total: st.tuples(st.integers(0, total), st.just(total))))
def test_the_interval_is_that_of_clopper_and_pearson(seen):
    count, total = seen
    low = beta.ppf(0.025, count, total - count + 1) if count else 0.0
    high = beta.ppf(0.975, count + 1, total - count) if count < total else 1.0
    assert share_interval(count, total) == pytest.approx((low, high), abs=1e-9)


def test_three_of_forty_are_two_to_twenty_percent():
    low, high = share_interval(3, 40)
    assert (round(100 * low), round(100 * high)) == (2, 20)


def test_at_most_one_in_a_hundred_takes_299_runs():
    assert runs_for(0.01) == 299
    assert at_most(299) <= 0.01 < at_most(298)


@given(st.floats(1e-3, 0.9))
def test_as_many_runs_as_a_bound_needs_reach_it_and_one_fewer_does_not(share):
    runs = runs_for(share)
    assert at_most(runs) <= share * (1 + 1e-9)
    assert runs == 1 or at_most(runs - 1) > share


def test_what_happens_once_in_twenty_is_seen_in_59_runs():
    assert runs_to_see(0.05) == 59
    assert 1 - 0.95**59 >= 0.95 > 1 - 0.95**58


@pytest.mark.parametrize(("count", "total"), [(-1, 3), (4, 3), (0, 0)])
def test_what_is_no_share_is_refused(count, total):
    with pytest.raises(ValueError, match="is no share"):
        share_interval(count, total)
