"""The permutation test against scipy's, Holm's correction against statsmodels'."""

import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from reprokit.core.statistics import permutation

WHOLE = st.integers(-5, 5).map(float)  # few values, so many ties


def generator(seed=0):
    return np.random.default_rng(seed)


def by_scipy(reference, new, **options):
    return scipy.stats.permutation_test(
        (new, reference),
        lambda one, other, axis: one.mean(axis=axis) - other.mean(axis=axis),
        vectorized=True,
        permutation_type="independent",
        **{"n_resamples": np.inf, **options},
    ).pvalue


def p_value(reference, new):
    return float(permutation.two_sided(np.array(reference), np.array([new]), generator=generator())[0])


@settings(max_examples=40, deadline=None)
@given(st.lists(WHOLE, min_size=2, max_size=6), st.lists(WHOLE, min_size=2, max_size=4))
def test_it_is_scipys_exact_p_value(reference, new):
    assert p_value(reference, new) == pytest.approx(by_scipy(reference, new), abs=1e-12)


@pytest.mark.parametrize("alternative", ["less", "greater"])
def test_each_side_is_scipys(alternative):
    reference, new = generator(1).normal(size=7), generator(2).normal(size=4)
    sides = permutation.one_sided(reference, new[None], generator=generator())
    found = sides[alternative == "greater"][0]
    assert found == pytest.approx(by_scipy(reference, new, alternative=alternative), abs=1e-12)


def test_above_the_limit_splits_are_drawn_and_the_observed_one_counts_too():
    reference, new = generator(3).normal(size=20), generator(4).normal(size=10) - 0.7
    among = permutation.splits(20, 10, generator=generator())
    assert (among.exact, len(among.chosen)) == (False, permutation.NUM_DRAWN)
    drawn = by_scipy(reference, new, n_resamples=20_000, rng=generator(5))
    assert p_value(reference, new) == pytest.approx(drawn, abs=4 * math.sqrt(drawn / permutation.NUM_DRAWN))
    far = p_value(reference, new - 100)
    assert far == among.smallest_p == 2 / (permutation.NUM_DRAWN + 1)


@pytest.mark.parametrize(
    ("num_reference", "num_new", "smallest"), [(3, 3, 0.1), (5, 5, 2 / 252), (20, 3, 2 / 1771), (1, 1, 1.0)]
)
def test_complete_separation_gives_the_smallest_p_value(num_reference, num_new, smallest):
    among = permutation.splits(num_reference, num_new, generator=generator())
    assert among.smallest_p == pytest.approx(smallest)
    found = p_value(np.arange(num_reference) + 0.5, np.arange(num_new) + 100.0)
    assert found == pytest.approx(smallest)


@pytest.mark.parametrize("offset", [0.0, 1e9])
@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
def test_equal_values_are_no_difference_however_large(offset, scale):
    value = 500.1 * scale + (offset if scale == 1.0 else 0.0)
    assert p_value([value] * 5, [value] * 3) == 1.0


def test_sums_that_differ_by_rounding_are_ties():
    reference, new = [0.1, 0.2, 0.3, 0.6], [0.1 + 0.2, 0.5 - 0.2]  # 0.30000000000000004, 0.3
    assert p_value(reference, new) == pytest.approx(p_value([1.0, 2, 3, 6], [3.0, 3]))


@settings(max_examples=30, deadline=None)
@given(st.lists(WHOLE, min_size=3, max_size=5), st.lists(WHOLE, min_size=2, max_size=3), st.randoms())
def test_order_shift_and_scale_do_not_matter(reference, new, random):
    expected = p_value(reference, new)
    shuffled = random.sample(reference, len(reference))
    assert p_value([7 + 2 * value for value in shuffled], [7 + 2 * value for value in new]) == pytest.approx(
        expected
    )
    assert p_value([-value for value in reference], [-value for value in new]) == pytest.approx(expected)


def test_many_tests_at_once_are_each_as_alone():
    reference, new = generator(6).normal(size=(50, 6)), generator(7).normal(size=(50, 4))
    together = permutation.two_sided(reference, new, generator=generator())
    assert together.tolist() == [p_value(one, other) for one, other in zip(reference, new, strict=True)]


def test_one_seed_draws_one_set_of_splits():
    first, again = (permutation.splits(20, 10, generator=generator(9)).chosen for _ in range(2))
    assert (first == again).all()
    assert (first.sum(axis=1) == 10).all()
    assert not (permutation.splits(20, 10, generator=generator(8)).chosen == first).all()


@pytest.mark.parametrize("odd", [math.nan, math.inf])
def test_a_value_that_is_not_finite_is_refused(odd):
    with pytest.raises(ValueError, match="finite"):
        p_value([1.0, odd], [2.0])


@pytest.mark.parametrize("drawn", [False, True])
def test_the_number_of_extreme_splits_is_what_the_level_allows(drawn):
    limits = {"max_splits": 0, "num_drawn": 999} if drawn else {}
    among = permutation.splits(6, 4, generator=generator(), **limits)
    total = len(among.chosen) + drawn
    for level in (0.001, 0.0095, 0.01, 0.05, 2 / 210, 2 * 20 / 1000, 1.0):
        most = among.most_as_extreme(level)
        assert most < 0 or 2 * (1 + most) / total <= level * (1 + 1e-9)
        assert 2 * (2 + most) / total > level


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=6))
def test_holm_is_that_of_statsmodels(p_values):
    expected = multipletests(p_values, method="holm")[1]
    assert permutation.holm(np.array(p_values)) == pytest.approx(expected, abs=1e-12)


def test_holm_of_rows_is_that_of_each():
    rows = generator(10).random((20, 4))
    assert (permutation.holm(rows) == [permutation.holm(row) for row in rows]).all()


# Planted faults: what is compared above would notice them


def one_side_alone(reference, new):
    return float(permutation.one_sided(reference, new[None], generator=generator())[0][0])


def smaller_side_not_doubled(reference, new):
    return p_value(reference, new) / 2


def strictly_more_extreme(reference, new):
    return p_value(reference, new) - 2 / math.comb(len(reference) + len(new), len(new))


def with_a_normal_distribution(reference, new):
    return scipy.stats.ttest_ind(reference, new).pvalue


@pytest.mark.parametrize(
    "wrong", [one_side_alone, smaller_side_not_doubled, strictly_more_extreme, with_a_normal_distribution]
)
def test_a_wrong_formula_is_not_scipys(wrong):
    reference, new = generator(11).normal(size=6), generator(12).normal(size=4) + 1
    assert wrong(reference, new) != pytest.approx(by_scipy(reference, new), abs=1e-12)
