"""The statistical gate: what it concludes, how often it is wrong, and what it says."""

import math
from dataclasses import replace

import numpy as np
import pytest
import scipy.stats
from statsmodels.stats.power import TTestIndPower

from reprokit.core.statistics import difference_interval, gate, permutation, power
from reprokit.core.statistics.gate_plan import Conclusion, Metric, PlanOfLooks

SMALL = PlanOfLooks(power_draws=200)
RETURN = Metric(name="eval/return", margin=2.0)
LOSS = Metric(name="loss", margin=2.0, higher_is_better=False)


def generator(seed=0):
    return np.random.default_rng(seed)


def normal(count, *, seed, shift=0.0):
    return (generator(seed).normal(size=count) + shift).tolist()


def judge(reference, new, *, metrics=(RETURN,), plan=SMALL, seed=0):
    if not isinstance(reference, dict):
        reference, new = {metrics[0].name: reference}, {metrics[0].name: new}
    return gate.judge(reference, new, metrics=metrics, generator=generator(seed), plan=plan)


# What it concludes


def test_equal_distributions_and_a_wide_margin_are_equivalent():
    outcome = judge(normal(20, seed=1), normal(10, seed=2))
    assert outcome.conclusion is Conclusion.EQUIVALENT
    (one,) = outcome.metrics
    assert one.power_at_margin >= 0.8
    assert 0 < one.smallest_visible_drop <= RETURN.margin
    assert outcome.reason.startswith("no difference was found with ")
    assert one.difference_low < one.difference < one.difference_high
    limits = ", ".join(f"{limit:.6g}" for limit in (one.difference_low, one.difference_high))
    assert (
        "a worsening as large as the margin is excluded: "
        f"eval/return {one.difference:.6g} [{limits}], margin 2" in (outcome.reason)
    )


@pytest.mark.parametrize("metric", [RETURN, LOSS])
def test_one_collapsed_seed_of_three_is_not_equivalent_at_the_first_look(metric):
    """Such a difference is too small for the level of the look, and yet excludes nothing."""
    wide = replace(metric, margin=30.0)
    reference = [100 + 5 * one for one in normal(20, seed=1)]
    collapsed = judge(reference, [99.0, 98.0, 100 - 40 * metric.sign], metrics=(wide,))
    (one,) = collapsed.metrics
    assert one.power_at_margin > 0.99
    assert (collapsed.conclusion, one.differs, one.excludes_margin) == (Conclusion.UNJUDGED, False, False)
    assert collapsed.reason.endswith("2 more new seeds to the next look")
    worst = one.difference_low if metric.sign > 0 else one.difference_high
    assert worst * metric.sign < -30.0
    assert f"not excluded ({metric.name}: difference {one.difference:.6g} [" in collapsed.reason


def test_while_that_is_open_five_and_then_ten_seeds_are_taken():
    reference = [100 + 5 * one for one in normal(20, seed=1)]
    metric = Metric(name="eval/return", margin=30.0)
    recovered = [99.0, 98.0, 60.0, 101.0, 102.0, 99.0, 97.0, 103.0, 100.0, 101.0]
    three, five, ten = (judge(reference, recovered[:count], metrics=(metric,)) for count in (3, 5, 10))
    assert [one.conclusion for one in (three, five, ten)] == ["UNJUDGED", "UNJUDGED", "EQUIVALENT"]
    assert [one.excludes_margin for look in ten.looks for one in look.metrics] == [False, False, True]


def test_a_difference_within_the_margin_that_ten_seeds_do_not_settle_says_how_many_would():
    reference, metric = normal(40, seed=1), Metric(name="eval/return", margin=1.1)
    new = [one - sum(normal(10, seed=2)) / 10 - 0.55 for one in normal(10, seed=2)]
    outcome = judge(reference, new, metrics=(metric,))
    (one,) = outcome.metrics
    assert (outcome.conclusion, one.excludes_margin, one.power_at_margin > 0.8) == ("UNJUDGED", False, True)
    assert outcome.seeds_more > 0
    assert f"{outcome.seeds_more} more new seeds would be enough" in outcome.reason


def test_a_difference_as_large_as_the_margin_asks_for_no_more_seeds():
    reference, metric = normal(40, seed=1), Metric(name="eval/return", margin=0.4)
    new = [one - sum(normal(10, seed=2)) / 10 - 0.55 for one in normal(10, seed=2)]
    outcome = judge(reference, new, metrics=(metric,))
    assert (outcome.conclusion, outcome.seeds_more) == (Conclusion.UNJUDGED, None)
    assert outcome.reason.endswith("the difference of eval/return is itself as large as the margin")


def test_it_stops_at_the_first_look_that_has_the_power():
    wide = Metric(name="eval/return", margin=10.0)
    outcome = judge(normal(20, seed=1), normal(10, seed=2), metrics=(wide,))
    assert (len(outcome.looks), outcome.num_unused, outcome.seeds_more) == (1, 7, None)


@pytest.mark.parametrize("metric", [RETURN, LOSS])
@pytest.mark.parametrize(("shift", "direction"), [(-4.0, "worse"), (4.0, "better")])
def test_a_difference_in_either_direction_is_a_regression(metric, shift, direction):
    outcome = judge(normal(20, seed=1), normal(10, seed=2, shift=shift * metric.sign), metrics=(metric,))
    (one,) = outcome.metrics
    assert (outcome.conclusion, one.direction, one.differs) == (Conclusion.REGRESSION, direction, True)
    assert one.difference == pytest.approx(one.new_mean - one.reference_mean)
    assert outcome.reason.startswith(f"{metric.name} is {direction} than the 20 seeds of the ensemble by ")
    assert one.smallest_visible_drop is not None


def test_a_smaller_drop_than_the_margin_is_a_regression_where_it_is_found_and_that_is_said():
    shifted = normal(10, seed=2, shift=-1.8)
    small, large = (
        judge(normal(20, seed=1), shifted, metrics=(Metric(name="eval/return", margin=margin),))
        for margin in (50.0, 0.1)
    )
    assert {small.conclusion, large.conclusion} == {Conclusion.REGRESSION}
    assert "a smaller worsening than the margin 50, but a difference that is found counts" in small.reason
    assert "margin" not in large.reason


def test_not_rejecting_is_not_proving():
    narrow = Metric(name="eval/return", margin=0.3)
    outcome = judge(normal(20, seed=1), normal(10, seed=2), metrics=(narrow,))
    assert (outcome.conclusion, outcome.seeds_more) == (Conclusion.UNJUDGED, None)
    assert "% power, and the smallest visible worsening, found with 80%, is " in outcome.reason
    assert outcome.reason.endswith("the ensemble has too few seeds")


def test_after_the_last_look_it_says_how_many_more_seeds_would_do():
    margin = Metric(name="eval/return", margin=0.85)
    values = normal(40, seed=1), normal(10, seed=2)
    outcome = judge(*values, metrics=(margin,))
    assert outcome.conclusion is Conclusion.UNJUDGED
    more = 10 + outcome.seeds_more
    level = SMALL.level(2)
    enough, few = (
        power.visible_drops(
            np.array(values[0]), count, level=level, draws=2000, generator=generator(3)
        ).power(0.85)
        for count in (more, more - 4)
    )
    assert enough > 0.77 > few - 0.03
    assert f"{outcome.seeds_more} more new seeds would be enough" in outcome.reason


def test_too_few_seeds_wait_for_the_next_look():
    reference = normal(20, seed=1)
    metric = Metric(name="eval/return", margin=1.0)
    nothing, three, four = (judge(reference, normal(count, seed=2), metrics=(metric,)) for count in (2, 3, 4))
    assert (nothing.looks, nothing.metrics, nothing.seeds_more) == ((), (), 1)
    assert nothing.reason == "too few new seeds: 1 more for the first look"
    assert (len(three.looks), three.num_unused, three.seeds_more) == (1, 0, 2)
    assert (len(four.looks), four.num_unused, four.seeds_more) == (1, 1, 1)
    assert four.reason.endswith("1 more new seed to the next look")
    assert {one.conclusion for one in (nothing, three, four)} == {Conclusion.UNJUDGED}


def test_three_against_three_can_never_differ():
    outcome = judge([1.0, 2, 3], [101.0, 102, 103], plan=PlanOfLooks(looks=(3,), power_draws=50))
    (one,) = outcome.metrics
    assert (one.p_value, one.smallest_possible_p_value) == (pytest.approx(0.1), pytest.approx(0.1))
    assert (outcome.conclusion, one.power_at_margin, one.smallest_visible_drop) == (
        Conclusion.UNJUDGED,
        0.0,
        None,
    )
    assert "smallest visible worsening, found with 80%, is none" in outcome.reason


def test_without_variance_every_shared_drop_is_seen_and_it_is_said():
    same = judge([500.0] * 20, [500.0] * 3)
    (one,) = same.metrics
    assert (same.conclusion, one.zero_variance, one.p_value) == (Conclusion.EQUIVALENT, True, 1.0)
    assert (one.smallest_visible_drop, one.power_at_margin, one.direction) == (0.0, 1.0, "none")
    lower = judge([500.0] * 20, [499.0] * 3)
    assert lower.conclusion is Conclusion.REGRESSION


def test_one_state_of_the_generator_gives_one_answer():
    values = normal(20, seed=1), normal(10, seed=2)
    assert judge(*values) == judge(*values)


# Several metrics


def test_several_metrics_share_the_error_rate_by_holms_correction():
    reference = {"eval/return": normal(20, seed=1), "loss": normal(20, seed=2)}
    new = {"eval/return": normal(10, seed=3), "loss": normal(10, seed=4, shift=3.0)}
    outcome = judge(reference, new, metrics=(RETURN, LOSS))
    assert [one.differs for one in outcome.metrics] == [False, True]
    expected = permutation.holm(np.array([one.p_value for one in outcome.metrics]))
    assert [one.adjusted_p_value for one in outcome.metrics] == expected.tolist()
    assert outcome.reason.startswith("loss is worse")


def test_equivalence_needs_the_power_in_every_metric():
    narrow = Metric(name="loss", margin=0.1, higher_is_better=False)
    reference = {"eval/return": [500.0] * 20, "loss": normal(20, seed=2)}
    new = {"eval/return": [500.0] * 10, "loss": normal(10, seed=4)}
    outcome = judge(reference, new, metrics=(RETURN, narrow))
    assert outcome.conclusion is Conclusion.UNJUDGED
    assert "eval/return" not in outcome.reason


# Values that are not finite


@pytest.mark.parametrize("odd", [math.nan, math.inf, -math.inf])
def test_one_value_that_is_not_finite_is_never_equivalent(odd):
    outcome = judge(normal(20, seed=1), [odd, *normal(9, seed=2)])
    (one,) = outcome.metrics
    assert (outcome.conclusion, one.num_not_finite, one.difference) == (Conclusion.UNJUDGED, (0, 1), None)
    assert (one.power_at_margin, outcome.seeds_more) == (None, None)
    assert outcome.reason == "values that are not finite, too few to be a difference: eval/return"


@pytest.mark.parametrize("metric", [RETURN, LOSS])
def test_many_of_them_are_a_regression(metric):
    outcome = judge(normal(20, seed=1), [math.nan] * 3, metrics=(metric,))
    (one,) = outcome.metrics
    assert (outcome.conclusion, one.direction) == (Conclusion.REGRESSION, "worse")
    assert one.p_value == pytest.approx(scipy.stats.fisher_exact([[3, 0], [0, 20]]).pvalue * 2)
    assert "3 of 3 new, 0 of 20 of the ensemble" in outcome.reason


# Its error rates


def test_shares_of_the_error_rate_add_up():
    for looks in ((3, 5, 10), (5,), (1, 2, 3, 4)):
        plan = PlanOfLooks(looks=looks)
        assert sum(map(plan.level, range(len(looks)))) == pytest.approx(0.05)
    assert [PlanOfLooks().level(at) for at in range(3)] == pytest.approx([0.0045, 0.008, 0.0375])


def ceiling(values):
    return np.minimum(500.0, 495 + 10 * values)


def bimodal(values):
    return np.where(values > 0.8, 200.0, 500.0) + values


@pytest.mark.parametrize("shape", [np.asarray, ceiling, bimodal])
@pytest.mark.parametrize("num_metrics", [1, 3])
def test_false_alarms_stay_below_the_error_rate(shape, num_metrics):
    gates = 1800 // num_metrics
    values = shape(
        generator(5).normal(size=(gates, 1, 30)) + generator(6).normal(size=(gates, num_metrics, 30))
    )
    many = gate.judge_many(
        values[:, :, :20],
        values[:, :, 20:],
        metrics=[Metric(name=str(at), margin=1.0) for at in range(num_metrics)],
        generator=generator(7),
        with_power=False,
    )
    alarms = np.count_nonzero(many.conclusions == Conclusion.REGRESSION)
    assert alarms <= scipy.stats.binom.ppf(0.9999, gates, 0.05)


def test_a_gate_without_spending_would_be_caught():
    """The full error rate at every look: what the test above must be able to see."""
    gates = 1500
    values = generator(5).normal(size=(gates, 1, 30))
    any_look = np.zeros(gates, dtype=bool)
    for num_new in (3, 5, 10):
        found = permutation.two_sided(
            values[:, 0, :20], values[:, 0, 20 : 20 + num_new], generator=generator()
        )
        any_look |= found <= 0.05
    assert np.count_nonzero(any_look) > scipy.stats.binom.ppf(0.9999, gates, 0.05)


def passes_at_the_margin(gates, *, failing=None):
    """Of gates whose means are lower by exactly the margin; ``failing``: in this share of the seeds alone.

    The power that is asked is low here, so that nothing but the interval holds the rate.
    """
    metric = Metric(name="a", margin=1.0)
    values = generator(8).normal(size=(gates, 1, 30))
    hit = generator(9).random((gates, 1, 10)) < failing if failing else True
    many = gate.judge_many(
        values[:, :, :20],
        values[:, :, 20:] - np.where(hit, metric.margin / (failing or 1.0), 0.0),
        metrics=[metric],
        generator=generator(9),
        plan=PlanOfLooks(looks=(5, 10), power=0.2, power_draws=40),
    )
    return np.count_nonzero(many.conclusions == Conclusion.EQUIVALENT), np.count_nonzero(many.worse)


def test_a_drop_of_the_margin_passes_at_most_as_often_as_the_interval_allows():
    passed, worse = passes_at_the_margin(120)
    assert passed <= scipy.stats.binom.ppf(0.9999, 120, 0.025)
    assert worse > 60


def test_a_judge_that_ignores_the_interval_would_be_caught(monkeypatch):
    monkeypatch.setattr(gate, "excludes", lambda low, margin: np.full(np.shape(low), True))
    passed, _ = passes_at_the_margin(120)
    assert passed > scipy.stats.binom.ppf(0.9999, 120, 0.025)


def test_a_judge_whose_interval_is_at_the_full_rate_in_every_look_would_be_caught(monkeypatch):
    limits = gate.difference_limits
    monkeypatch.setattr(
        gate, "difference_limits", lambda *sides, level, among: limits(*sides, level=0.2, among=among)
    )
    passed, _ = passes_at_the_margin(120)
    assert passed > scipy.stats.binom.ppf(0.9999, 120, 0.025)


def test_an_interval_that_takes_all_seeds_for_shifted_alike_passes_failing_seeds_more_often(monkeypatch):
    passed, _ = passes_at_the_margin(200, failing=0.2)
    monkeypatch.setattr(difference_interval, "_welch_limits", lambda reference, new, level: (np.inf, -np.inf))
    careless, _ = passes_at_the_margin(200, failing=0.2)
    assert careless > 1.2 * passed > 0


@pytest.mark.parametrize(("num_new", "level"), [(3, 0.0045), (5, 0.008), (10, 0.0375)])
@pytest.mark.parametrize("shape", ["spread", "tied"])
def test_the_limits_are_where_the_test_stops_to_reject(num_new, level, shape):
    values = generator(num_new).normal(size=(1, 20 + num_new))
    values = np.minimum(values, 0.0) if shape == "tied" else values
    reference, new = values[:, :20], values[:, 20:]
    among = permutation.splits(20, num_new, generator=generator(1))
    low, high = difference_interval._shift_limits(reference, new, level=level, among=among)
    for inside, outside in ((low + 1e-6, low - 1e-6), (high - 1e-6, high + 1e-6)):
        kept, rejected = (
            permutation.two_sided(reference, new - shift, generator=generator(), among=among)[0]
            for shift in (inside, outside)
        )
        assert rejected <= level < kept


def test_welchs_limits_are_those_of_the_textbook():
    reference, new = generator(1).normal(size=(1, 20)), 3 * generator(2).normal(size=(1, 5))
    low, high = difference_interval._welch_limits(reference, new, 0.05)
    known = scipy.stats.ttest_ind(new[0], reference[0], equal_var=False).confidence_interval(0.95)
    assert (low[0], high[0]) == pytest.approx((known.low, known.high))


def test_groups_too_small_for_the_level_have_no_interval_and_are_not_equivalent():
    outcome = judge([1.0, 2, 3], [1.0, 2, 3], plan=PlanOfLooks(looks=(3,), power=0.01, power_draws=50))
    (one,) = outcome.metrics
    assert (outcome.conclusion, one.difference_low, one.difference_high) == (Conclusion.UNJUDGED, None, None)
    assert "too few seeds for an interval" in outcome.reason


def test_many_gates_are_each_as_alone():
    values = (
        generator(10).normal(size=(12, 2, 30)) - np.arange(12)[:, None, None] * (np.arange(30) >= 20) * 0.3
    )
    metrics = [Metric(name="a", margin=2.5), Metric(name="b", margin=2.0)]
    for one in values:
        many = gate.judge_many(
            one[None, :, :20], one[None, :, 20:], metrics=metrics, generator=generator(1), plan=SMALL
        )
        sides = [dict(zip("ab", side.tolist(), strict=True)) for side in (one[:, :20], one[:, 20:])]
        alone = judge(*sides, metrics=metrics, seed=1)
        assert (many.conclusions[0], many.looks[0]) == (alone.conclusion, len(alone.looks) - 1)
        assert many.worse[0] == any(
            judged.differs and judged.direction == "worse" for judged in alone.metrics
        )


# Power


@pytest.mark.parametrize(("num_new", "level", "drop"), [(5, 0.05, 1.5), (10, 0.0375, 1.0), (3, 0.05, 2.0)])
def test_power_is_how_often_the_test_finds_that_drop(num_new, level, drop):
    """The same draws, lowered and then tested one by one."""
    reference = np.array(normal(20, seed=1))
    draws = 300
    found = power.visible_drops(reference, num_new, level=level, draws=draws, generator=generator(4)).power(
        drop
    )
    counting = generator(5)
    population = (reference - reference.mean()) * math.sqrt(20 / 19)
    before, after = (population[counting.integers(0, 20, size=(draws, size))] for size in (20, num_new))
    p_values = permutation.one_sided(before, after - drop, generator=counting)[0]
    assert found == pytest.approx(np.mean(2 * p_values <= level), abs=4 * math.sqrt(0.5 / draws))


def test_power_of_each_draw_is_that_of_the_test_at_every_drop():
    """Not only on average: the smallest drop found is the one at which the p-value crosses the level."""
    reference = np.array([1.0, 2, 2, 4, 7, 8])
    found = power.visible_drops(reference, 3, level=0.1, draws=40, generator=generator(4))
    again = generator(4)
    population = (reference - reference.mean()) * math.sqrt(6 / 5)
    pooled = population[again.integers(0, 6, size=(40, 9))]
    for drop in (0.1, 1.0, 3.0, 5.0, 8.0, 20.0):
        lower = permutation.one_sided(pooled[:, :6], pooled[:, 6:] - drop, generator=again)[0]
        assert found.power(drop) == np.mean(2 * lower <= 0.1)


def test_power_of_the_normal_case_is_near_that_of_the_t_test():
    reference = scipy.stats.norm.ppf((np.arange(200) + 0.5) / 200)
    found = power.visible_drops(reference, 10, level=0.05, draws=2000, generator=generator(4)).power(0.8)
    expected = TTestIndPower().power(0.8, nobs1=200, alpha=0.05, ratio=10 / 200)
    assert found == pytest.approx(expected, abs=0.04)


# What it refuses


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Metric(name="a", margin=0.0), "must be above 0"),
        (lambda: Metric(name="a", margin=math.nan), "must be above 0"),
        (lambda: PlanOfLooks(looks=(5, 3)), "rising"),
        (lambda: PlanOfLooks(looks=()), "rising"),
        (lambda: PlanOfLooks(looks=(0, 3)), "rising"),
        (lambda: PlanOfLooks(alpha=0.0), "between 0 and 1"),
        (lambda: judge([1.0], [1.0] * 3), "two seeds or more, not 1"),
        (lambda: judge({}, {}), "metrics without values: eval/return"),
        (lambda: judge({}, {}, metrics=()), "no metric"),
        (
            lambda: judge({"eval/return": [1.0, 2], "loss": [1.0]}, {}, metrics=(RETURN, LOSS)),
            "one value for each",
        ),
    ],
)
def test_what_cannot_be_judged_is_refused(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_many_gates_need_the_seeds_of_the_last_look():
    with pytest.raises(ValueError, match="4 new seeds are fewer than the last look's 10"):
        gate.judge_many(np.zeros((1, 1, 20)), np.zeros((1, 1, 4)), metrics=[RETURN], generator=generator())
