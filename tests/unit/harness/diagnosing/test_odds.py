"""How many equal runs make luck unlikely, and what is proof without repeats."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from reprokit.core.comparison import Divergence
from reprokit.harness.diagnosing.odds import Odds, by_rounding, in_full_precision


def test_the_more_pairs_were_equal_by_themselves_the_more_runs_are_wanted():
    wanted = [Odds(differ=6, equal=equal, repeated=0).wanted for equal in range(6)]
    assert wanted == sorted(wanted)
    assert wanted[0] < wanted[-1]


def test_the_more_was_tried_the_more_runs_are_wanted():
    one, many = (Odds(differ=4, equal=0, repeated=0, looks=looks).wanted for looks in (1, 20))
    assert one < many


def test_where_no_two_free_runs_are_equal_fewer_repeats_are_wanted():
    apart, not_known = (Odds(differ=6, equal=0, repeated=0, apart=apart).wanted for apart in (True, False))
    assert apart < not_known
    assert Odds(differ=6, equal=0, repeated=0, apart=True).luck == 1.0


@pytest.mark.parametrize("usual", [0.1, 0.2, 0.35, 0.5, 0.8])
def test_of_one_usual_result_beside_rare_ones_luck_seldom_repeats_it_so_often(usual):
    """All of six runs differ, the repeated one has the usual result, and so have those that repeat it."""
    wanted = Odds(differ=5, equal=0, repeated=0, apart=True).wanted
    assert usual * (1 - usual) ** 5 * usual**wanted < 0.01


@pytest.mark.parametrize("odds", [Odds(differ=4, equal=1, repeated=0), Odds(differ=1, equal=0, repeated=0)])
def test_as_many_as_are_wanted_are_enough_and_one_less_is_not(odds):
    def after(runs):
        return Odds(differ=odds.differ, equal=odds.equal, repeated=runs).enough

    assert after(odds.wanted)
    assert not after(odds.wanted - 1)


def found(expected, actual, mismatches=1):
    there = Divergence(record=0, step=0, metric="loss", expected=expected, actual=actual)
    return SimpleNamespace(divergence=there, per_metric={"loss": SimpleNamespace(mismatches=mismatches)})


@pytest.mark.parametrize(
    ("pair", "is_proof"),
    [
        (found(0.8131226301193237, 0.7695130109786987), True),
        (found(0.8131226301193237, 0.8131226301193239), False),  # rounding has few results
        (found(0.5, 0.25), False),  # as has a number of one digit
        (found(2.31, 2.27, mismatches=40), True),
        (found("a", "b"), False),
        (found(float("nan"), 0.7695130109786987), False),
        (found(None, 0.7695130109786987), False),
    ],
)
def test_what_differs_by_more_than_rounding_in_many_digits_comes_again_by_no_luck(pair, is_proof):
    assert in_full_precision(pair) is is_proof


def test_numbers_that_are_nearly_equal_differ_by_rounding_and_others_do_not():
    assert by_rounding(found(0.8131226301193237, 0.8131226301193239))
    assert not by_rounding(found(0.8131226301193237, 0.7695130109786987))
    assert not by_rounding(found("a", "b"))
