"""Intervals against scipy, statsmodels and arch; their coverage against a simulation of its own."""

import math

import numpy as np
import pytest
import scipy.stats
from arch.bootstrap import IIDBootstrap
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.weightstats import DescrStatsW

from reprokit.core.statistics import intervals
from reprokit.core.statistics.measured import COVERAGE, POWER, at_most

# Squares of smaller numbers are 0: scipy cannot be asked.
NUMBERS = st.lists(
    st.floats(-1e6, 1e6).map(lambda one: one if abs(one) > 1e-100 else 0.0), min_size=2, max_size=20
)


def generator(seed=0):
    return np.random.default_rng(seed)


def iqm(rows, axis=-1):
    return scipy.stats.trim_mean(rows, 0.25, axis=axis)


# Student's t


@settings(max_examples=40, deadline=None)
@given(NUMBERS)
def test_the_t_interval_is_scipys_and_statsmodels(values):
    found = intervals.student_t(values)
    if len(set(values)) == 1:
        assert found.low is None
        return
    size = max(map(abs, values))
    sem = scipy.stats.sem(values)
    expected = scipy.stats.t.interval(0.95, len(values) - 1, loc=np.mean(values), scale=sem)
    assert (found.low, found.high) == pytest.approx(expected, rel=1e-9, abs=1e-9 * size)
    other = DescrStatsW(values).tconfint_mean(0.05)
    assert (found.low, found.high) == pytest.approx(other, rel=1e-6, abs=1e-6 * size)
    assert found.low <= found.estimate <= found.high


def test_the_documents_own_five_seeds():
    """488.7 ± 4.3 is one population standard deviation, not the 95 % interval that it is called there."""
    found = intervals.student_t([489.5, 495.6, 482.1, 487.9, 488.4])
    assert (found.estimate, found.low, found.high) == pytest.approx((488.7, 482.728, 494.672), abs=1e-3)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([1.0], "one seed has no spread"),
        ([], "there is no seed"),
        ([1.0, math.nan], "1 of 2 values are not finite (nan)"),
        (
            [5.0, 5.0, 5.0],
            "zero variance: all 3 seeds have the same value, which says nothing about the next",
        ),
    ],
)
def test_where_there_is_none_it_says_why(values, words):
    found = intervals.student_t(values)
    assert (found.low, found.high) == (None, None)
    assert words in found.refused


# The bootstrap


@pytest.mark.parametrize("of", ["mean", "iqm"])
@pytest.mark.parametrize("count", [12, 15, 40])
def test_the_bootstrap_is_near_archs(of, count):
    values = generator(1).gamma(2.0, size=count)
    (found,) = intervals.bootstrap([values], of=of, generator=generator(2), num_resamples=20_000)
    statistic = np.mean if of == "mean" else iqm
    theirs = IIDBootstrap(values, seed=generator(3)).conf_int(statistic, reps=20_000, method="percentile")
    assert (found.low, found.high) == pytest.approx(theirs.ravel(), abs=0.03 * values.std())
    assert found.estimate == pytest.approx(statistic(values))


@pytest.mark.parametrize("of", ["mean", "iqm"])
@pytest.mark.parametrize("count", [4, 10, 13])
def test_it_is_exactly_the_statistic_of_each_resample(of, count):
    """Weights of sorted values give what drawing values and taking the statistic of them gives."""
    values = generator(4).normal(size=count)
    weights = intervals._resample_weights(count, of=of, generator=generator(5), num_resamples=50)
    drawn = np.sort(values)[generator(5).integers(0, count, size=(50, count))]
    expected = drawn.mean(axis=1) if of == "mean" else iqm(drawn)
    assert weights @ np.sort(values) == pytest.approx(expected)
    assert weights.sum(axis=1) == pytest.approx(1.0)


def test_one_seed_of_the_generator_gives_one_interval():
    rows = generator(6).normal(size=(3, 12))
    first, again, other = (
        intervals.bootstrap(rows, of="mean", generator=generator(seed)) for seed in (7, 7, 8)
    )
    assert first == again
    assert first != other


def test_a_stratified_bootstrap_draws_within_each_task():
    """Between tasks there is no spread to draw: two far tasks give a narrow interval."""
    tasks = [generator(1).normal(size=12), generator(2).normal(size=12) + 1000]
    stratified = intervals.stratified_bootstrap(tasks, of="mean", generator=generator(3), num_resamples=5000)
    (pooled,) = intervals.bootstrap([np.concatenate(tasks)], of="mean", generator=generator(3))
    expected = math.sqrt(sum(np.var(task) / 12 for task in tasks)) / 2
    assert (stratified.high - stratified.low) / 3.92 == pytest.approx(expected, rel=0.05)
    assert pooled.high - pooled.low > 100 * (stratified.high - stratified.low)
    assert stratified.estimate == pytest.approx(np.concatenate(tasks).mean())


def test_a_stratified_bootstrap_of_the_interquartile_mean_is_rliables():
    """rliable draws runs within each task, and trims a quarter of all scores together."""
    tasks = [generator(seed).normal(size=10) + seed for seed in (1, 2, 3)]
    found = intervals.stratified_bootstrap(tasks, of="iqm", generator=generator(4), num_resamples=300)
    drawing = generator(4)
    drawn = [task[drawing.integers(0, 10, size=(300, 10))] for task in tasks]
    expected = [scipy.stats.trim_mean([task[row] for task in drawn], 0.25, axis=None) for row in range(300)]
    assert (found.low, found.high) == pytest.approx(np.quantile(expected, [0.025, 0.975]))
    assert found.estimate == pytest.approx(scipy.stats.trim_mean(np.ravel(tasks), 0.25))


@pytest.mark.parametrize(
    ("tasks", "words"),
    [
        ([np.arange(3.0), np.arange(20.0)], "with so few seeds it covers 75% instead of 95%"),
        ([np.full(20, 2.0)] * 2, "zero variance"),
        ([np.array([math.nan] * 20)], "not finite"),
    ],
)
def test_a_stratified_bootstrap_is_refused_for_its_smallest_task(tasks, words):
    found = intervals.stratified_bootstrap(tasks, of="mean", generator=generator())
    assert found.low is None
    assert words in found.refused


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([1.0, 2, 3], "with so few seeds it covers 75% instead of 95%"),
        ([1.0, 2, 3, 4, 5], "covers 84%"),
        ([1.0], "one seed has no spread"),
        ([2.0] * 20, "zero variance: all 20 seeds"),
        ([1.0] * 19 + [math.inf], "1 of 20 values are not finite (inf)"),
    ],
)
def test_a_bootstrap_that_would_mislead_is_refused(values, words):
    (found,) = intervals.bootstrap([values], of="mean", generator=generator())
    assert (found.low, found.high) == (None, None)
    assert words in found.refused


def test_a_refused_row_leaves_the_others_as_they_are():
    good = generator(1).normal(size=12)
    alone, both = (
        intervals.bootstrap(rows, of="mean", generator=generator(2)) for rows in ([good], [[1.0] * 12, good])
    )
    assert both[1] == alone[0]
    assert both[0].refused


# The coverage that is quoted


def simulated(method, count, *, shape="normal", draws=1200):
    """An implementation of its own: scipy's t, and a bootstrap that draws for every single interval."""
    drawing = generator(count)
    rows = drawing.normal(size=(draws, count))
    if shape == "ceiling":
        rows = np.minimum(rows, 0.0)
        rows = rows[(rows != rows[:, :1]).any(axis=1)]
    expected = 0.0 if shape == "normal" else -1 / math.sqrt(2 * math.pi)
    if method == "student_t":
        sem = rows.std(axis=1, ddof=1) / math.sqrt(count)
        low, high = scipy.stats.t.interval(0.95, count - 1, loc=rows.mean(axis=1), scale=sem)
    else:
        drawn = [row[drawing.integers(0, count, size=(400, count))] for row in rows]
        statistic = np.mean if method == "bootstrap_mean" else iqm
        low, high = np.array([np.quantile(statistic(one, axis=-1), [0.025, 0.975]) for one in drawn]).T
    return float(np.mean((low <= expected) & (expected <= high)))


def near(found, quoted, draws=1200):
    return abs(found - quoted) < 4 * math.sqrt(quoted * (1 - quoted) / draws) + 0.01


@pytest.mark.parametrize(
    ("method", "shape", "count"),
    [
        ("student_t", "normal", 3),
        ("student_t", "normal", 10),
        ("student_t", "ceiling", 3),
        ("student_t", "ceiling", 10),
        ("bootstrap_mean", "normal", 3),
        ("bootstrap_mean", "normal", 5),
        ("bootstrap_mean", "normal", 10),
        ("bootstrap_iqm", "normal", 5),
    ],
)
def test_the_table_is_what_another_simulation_finds(method, shape, count):
    assert near(simulated(method, count, shape=shape), COVERAGE[method][shape][count])


def test_that_comparison_would_notice_a_wrong_table():
    assert not near(simulated("bootstrap_mean", 3), COVERAGE["student_t"]["normal"][3])
    assert not near(simulated("student_t", 10, shape="ceiling"), COVERAGE["student_t"]["normal"][10])


def test_between_the_counts_of_the_table_the_smaller_one_counts():
    assert at_most({3: 0.7, 5: 0.8}, 4) == 0.7
    assert at_most({3: 0.7, 5: 0.8}, 900) == 0.8
    assert at_most({3: 0.7}, 2) is None
    assert intervals.measured_coverage("student_t", 1) == {}
    assert set(intervals.measured_coverage("student_t", 11)) == {"normal", "ceiling", "bimodal", "skewed"}


def test_the_tables_are_shares():
    numbers = [one for shapes in COVERAGE.values() for table in shapes.values() for one in table.values()]
    assert all(
        0 <= one <= 1 for one in [*numbers, *(one for table in POWER.values() for one in table.values())]
    )
