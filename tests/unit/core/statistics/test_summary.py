"""Summaries against numpy, scipy and Python's own ``statistics``."""

import math
import statistics

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.weightstats import DescrStatsW

from reprokit.core.statistics.summary import STATISTICS, interquartile_mean, summarise

NUMBERS = st.lists(st.floats(-1e6, 1e6, allow_subnormal=False), min_size=2, max_size=30)


def expected(values):
    return {
        "mean": statistics.fmean(values),
        "std": statistics.stdev(values),
        "standard_error": float(scipy.stats.sem(values)),
        "median": statistics.median(values),
        "iqm": float(scipy.stats.trim_mean(values, 0.25)),
        "min": min(values),
        "max": max(values),
    }


def agrees(found, values):
    size = max(map(abs, values))
    return all(
        math.isclose(getattr(found, name), value, rel_tol=1e-9, abs_tol=1e-9 * size + 1e-12)
        for name, value in expected(values).items()
    )


@settings(max_examples=60, deadline=None)
@given(NUMBERS)
def test_it_agrees_with_other_implementations(values):
    found = summarise(values)
    assert agrees(found, values)
    assert found.refused == {}
    weighted = DescrStatsW(values, ddof=1)
    assert found.std == pytest.approx(weighted.std, rel=1e-9, abs=1e-6)


@pytest.mark.parametrize("count", range(1, 13))
def test_the_interquartile_mean_is_scipys_trimmed_mean(count):
    values = np.random.default_rng(count).normal(size=(3, count))
    assert interquartile_mean(values) == pytest.approx(scipy.stats.trim_mean(values, 0.25, axis=1))


@settings(max_examples=30, deadline=None)
@given(NUMBERS, st.randoms())
def test_the_order_of_seeds_does_not_matter(values, random):
    one, other = summarise(values), summarise(random.sample(values, len(values)))
    for name in STATISTICS:
        assert getattr(one, name) == pytest.approx(getattr(other, name), rel=1e-9, abs=1e-6)


@pytest.mark.parametrize("odd", [math.nan, math.inf, -math.inf])
def test_a_value_that_is_not_finite_is_never_dropped(odd):
    found = summarise([1.0, odd, 2.0])
    assert found.num_seeds == 3
    assert {getattr(found, name) for name in STATISTICS} == {None}
    assert set(found.refused) == set(STATISTICS)
    assert found.refused["mean"] == f"1 of 3 values are not finite ({odd})"


def test_one_seed_has_no_spread():
    found = summarise([3.5])
    assert (found.mean, found.median, found.min, found.max, found.std, found.standard_error) == (
        *[3.5] * 4,
        None,
        None,
    )
    assert found.refused == dict.fromkeys(("std", "standard_error"), "one seed has no spread")
    assert not found.zero_variance


def test_no_seed_has_nothing():
    assert summarise([]).refused["mean"] == "there is no seed"


def test_equal_values_have_exactly_no_variance():
    found = summarise([0.1, 0.1, 0.1])  # whose mean numpy rounds to 0.10000000000000002
    assert (found.mean, found.std, found.zero_variance) == (0.1, 0.0, True)


def test_a_sum_that_overflows_is_refused():
    found = summarise([1.7e308, 1.6e308])
    assert found.mean is None
    assert found.refused["mean"] == "the sum does not fit into a 64-bit float"
    assert (found.min, found.max) == (1.6e308, 1.7e308)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("std", np.std),  # divided by n
        ("standard_error", lambda values: np.std(values, ddof=1) / len(values)),
        ("standard_error", lambda values: np.std(values) / math.sqrt(len(values))),
        ("iqm", np.mean),
        ("iqm", lambda values: scipy.stats.trim_mean(values, 0.4)),
        ("iqm", scipy.stats.iqr),
        ("median", lambda values: sorted(values)[len(values) // 2]),
    ],
)
def test_a_wrong_formula_would_be_noticed(name, wrong):
    values = [1.0, 2, 4, 8, 16, 32, 64, 128]
    assert expected(values)[name] == pytest.approx(getattr(summarise(values), name))
    assert wrong(values) != pytest.approx(expected(values)[name])
