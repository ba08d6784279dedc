"""The rule on rounding: numbers in, a finding out, and judges of it that are broken on purpose."""

from __future__ import annotations

import random

import pytest

from reprokit.features.compare.rounding import rule
from reprokit.features.compare.rounding.metric_kinds import kind_of
from reprokit.features.compare.rounding.rule import Finding, judged

ULP = 2.0**-24


def curve(records=40):
    return [2.0 * 0.97**step + 0.3 for step in range(records)]


def rounded(values, seed, *, grows=1.1, by=ULP):
    """The same numbers with noise that grows as a training lets rounding grow."""
    draw = random.Random(seed)
    return [value * (1 + by * grows**step * draw.uniform(-1, 1)) for step, value in enumerate(values)]


def twins(values, count=8, **how):
    return [{"loss": rounded(values, seed, **how)} for seed in range(1, count + 1)]


def finding(b, *, a=None, others=None):
    a = a or curve()
    return judged({"loss": a}, {"loss": b}, others if others is not None else twins(a))


def test_what_moves_no_more_than_twins_is_rounding():
    found = finding(rounded(curve(), 99))
    assert (found.finding, found.first, found.until) == (Finding.ROUNDING, None, 40)
    assert 0 < found.ratio <= 4


def test_equal_numbers_are_equal():
    assert finding(curve()).finding is Finding.EQUAL


def test_a_learning_rate_a_little_higher_is_different_and_the_record_is_named():
    off = [value * (1 + 1e-5 * step) for step, value in enumerate(curve())]
    found = finding(off)
    assert found.finding is Finding.DIFFERENT
    assert found.first == ("loss", 1)
    assert found.ratio > 4


def test_nothing_is_said_from_the_record_on_at_which_twins_are_one_percent_apart():
    wild = twins(curve(), grows=2.0)
    b = rounded(curve(), 99, grows=2.0)
    found = finding(b, others=wild)
    assert found.finding is Finding.UNJUDGED
    assert 10 < found.until < 25
    assert "rounding alone moves it" in found.metrics["loss"].why
    until = found.until
    early = judged(
        {"loss": curve()[:until]},
        {"loss": b[:until]},
        [{"loss": twin["loss"][:until]} for twin in wild],
    )
    assert early.finding is Finding.ROUNDING


def test_a_difference_before_that_record_is_still_different():
    b = rounded(curve(), 99, grows=2.0)
    b[2] *= 1.001
    assert finding(b, others=twins(curve(), grows=2.0)).first == ("loss", 2)


def test_a_sudden_jump_no_larger_than_the_twins_own_is_not_judged():
    others = twins(curve())
    for twin in others:
        twin["loss"][30] += 2e-3
    b = rounded(curve(), 99)
    b[20] += 1e-3
    found = finding(b, others=others)
    assert found.finding is Finding.UNJUDGED
    assert "a decision may have flipped" in found.metrics["loss"].why


def test_a_sudden_jump_that_no_twin_makes_is_different():
    b = rounded(curve(), 99)
    b[20] += 1e-3
    assert finding(b).finding is Finding.DIFFERENT


def test_a_count_that_differs_is_not_judged_and_one_that_does_not_is_equal():
    a = {"loss": curve(), "accuracy": [step / 360 for step in range(40)]}
    others = [{**one, "accuracy": a["accuracy"]} for one in twins(curve())]
    same = {"loss": rounded(curve(), 99), "accuracy": a["accuracy"]}
    assert judged(a, same, others).finding is Finding.ROUNDING
    flipped = {**same, "accuracy": [*a["accuracy"][:30], 31 / 360, *a["accuracy"][31:]]}
    found = judged(a, flipped, others)
    assert found.finding is Finding.UNJUDGED
    assert found.metrics["accuracy"].until == 30


def test_a_metric_that_is_zero_but_for_rounding_is_judged_by_what_twins_have_there():
    def noise(seed):
        draw = random.Random(seed)
        return [draw.uniform(-1e-8, 1e-8) for _ in range(20)]

    a, b = {"mean": noise(1)}, {"mean": noise(2)}
    others = [{"mean": noise(seed)} for seed in range(3, 11)]
    assert judged(a, b, others).finding is Finding.ROUNDING
    shifted = {"mean": [value + 1e-6 for value in b["mean"]]}
    assert judged(a, shifted, others).finding is Finding.DIFFERENT


def test_one_printed_unit_is_no_difference_where_few_digits_are_printed():
    a = {"loss": [round(value, 4) for value in curve()]}
    others = [dict(a) for _ in range(8)]
    one_unit = {"loss": [a["loss"][0] + 1e-4, *a["loss"][1:]]}
    assert judged(a, one_unit, others).finding is Finding.ROUNDING
    many = {"loss": [a["loss"][0] + 1e-3, *a["loss"][1:]]}
    assert judged(a, many, others).finding is Finding.DIFFERENT


def test_a_side_with_other_records_is_not_judged():
    found = finding(curve()[:30])
    assert found.finding is Finding.UNJUDGED
    assert "40 values" in found.metrics["loss"].why


@pytest.mark.parametrize(
    "other",
    [[float("nan")] * 40, [float("inf")] * 40],
)
def test_a_side_without_numbers_is_never_rounding(other):
    assert finding(other).finding is not Finding.ROUNDING


def test_twins_with_other_seeds_are_no_twins_and_nothing_is_called_rounding():
    """A broken twin: it is so far away that it would swallow every difference."""
    others = twins(curve(), by=0.1, grows=1.0)
    off = [value * 1.005 for value in curve()]
    assert finding(off, others=others).finding is Finding.UNJUDGED


@pytest.mark.parametrize(
    ("values", "counts", "unit"),
    [
        ([1.0, 2.0, 21.0], True, 0.0),
        ([step / 360 for step in range(1, 20)], True, 0.0),
        ([0.91, 0.95, 0.97], True, 0.0),
        ([0.6931, 0.5122, 0.4433], False, 1e-4),
        ([0.69314718, 0.51221317, 0.44331292, 0.37217319], False, 0.0),
        ([0.0, 0.0], False, 0.0),
    ],
)
def test_what_a_metric_can_show(values, counts, unit):
    kind = kind_of(values)
    assert (kind.counts, kind.unit) == (counts, pytest.approx(unit))


def beginnings(values, count=7, size=10):
    return [{"loss": one["loss"][:size]} for one in twins(values, count + 1)[1:]]


def test_short_twins_show_a_difference_in_the_records_that_they_have():
    off = [value * (1 + 1e-5 * step) for step, value in enumerate(curve())]
    found = judged({"loss": curve()}, {"loss": off}, twins(curve(), 1), short=beginnings(curve()))
    assert (found.finding, found.first, found.until) == (Finding.DIFFERENT, ("loss", 1), 10)


def test_what_fewer_than_four_twins_have_is_not_judged():
    late = [*curve()[:20], *(value * 1.001 for value in curve()[20:])]
    found = judged({"loss": curve()}, {"loss": late}, twins(curve(), 3), short=beginnings(curve()))
    assert (found.finding, found.until) == (Finding.UNJUDGED, 10)
    assert "first 10 records alone" in found.metrics["loss"].why
    assert judged({"loss": curve()}, {"loss": late}, twins(curve(), 4)).finding is Finding.DIFFERENT


def test_a_jump_is_not_judged_as_long_as_no_twin_shows_what_comes_later():
    b = rounded(curve(), 99)
    b[7] += 1e-3
    found = judged({"loss": curve()}, {"loss": b}, [], short=beginnings(curve(), 8))
    assert found.finding is Finding.UNJUDGED
    assert "jumps at record 7" in found.metrics["loss"].why
    assert finding(b).finding is Finding.DIFFERENT


def test_a_rule_that_takes_one_twin_for_enough_is_broken(monkeypatch):
    monkeypatch.setattr(rule, "ENOUGH", 1)
    late = [*curve()[:20], *(value * (1 + 3e-6) for value in curve()[20:])]
    found = judged({"loss": curve()}, {"loss": late}, twins(curve(), 1), short=beginnings(curve()))
    assert found.finding is not Finding.UNJUDGED, "the test above would not see that rule"


def test_a_rule_without_a_horizon_is_broken(monkeypatch):
    b = rounded(curve(), 99, grows=2.0)
    monkeypatch.setattr(rule, "HORIZON", float("inf"))
    found = finding(b, others=twins(curve(), grows=2.0))
    assert found.finding is Finding.ROUNDING, "the test of the horizon would not see that rule"


def test_twins_of_too_large_an_epsilon_hide_a_change_and_its_control_too():
    """Why the control must be seen: single precision rounded as bfloat16 is."""
    coarse = twins(curve(), by=2.0**-8, grows=1.0)
    faster = [2.0 * 0.97 ** (1.001 * step) + 0.3 for step in range(40)]
    assert finding(faster).finding is Finding.DIFFERENT
    assert finding(faster, others=coarse).finding is not Finding.DIFFERENT


def test_twins_that_perturb_nothing_leave_only_units_in_the_last_place():
    nothing = [{"loss": curve()} for _ in range(8)]
    assert finding(rounded(curve(), 99), others=nothing).finding is Finding.DIFFERENT


def test_what_smaller_changes_do_is_read_off_before_a_jump():
    smooth = [value * (1 + 1e-5 * step) for step, value in enumerate(curve())]
    jumps = [*smooth[:20], *(value * 1.5 for value in smooth[20:])]
    without = finding(smooth[:20], a=curve()[:20]).metrics["loss"]
    found = finding(jumps).metrics["loss"]
    assert without.steady == without.ratio == found.steady
    assert found.ratio > 100 * found.steady
