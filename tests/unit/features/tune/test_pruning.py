"""A trial is pruned by what it reported and by the trials before its lag, whenever someone looks."""

from __future__ import annotations

import pytest

from reprokit.core.statistics.windows import Window
from reprokit.features.tune.definition import Objective
from reprokit.features.tune.studies import Trial, TrialState
from reprokit.features.tune.trials.pruning import PruningRule
from support.search import definition


def trial(number: int, *curve: float, state=TrialState.COMPLETE, rungs=()) -> Trial:
    return Trial(number=number, params={}, state=state, value=curve[-1], curve=curve, rungs=rungs)


def rule(pruner: str, number: int, visible, *, direction="minimize") -> PruningRule:
    asked = definition(pruner=pruner)
    return PruningRule(asked, number, visible)


EARLIER = [trial(number, 5.0 - number, 4.0 - number, 3.0 - number) for number in range(5)]


def test_the_median_of_the_trials_it_sees_is_the_limit_at_each_report():
    one = rule("median", 9, EARLIER)
    assert not one.report(2.9)
    assert one.report(2.5)
    assert (one.pruned_at, one.curve) == (1, [2.9, 2.5])


def test_below_the_median_it_goes_to_its_end():
    one = rule("median", 9, EARLIER)
    assert not any(map(one.report, (2.0, 1.0, 0.5)))


def test_nothing_is_pruned_before_five_trials_are_seen():
    one = rule("median", 8, EARLIER[:4])
    assert not any(map(one.report, (90.0, 90.0, 90.0)))


def test_trials_that_failed_or_were_pruned_are_not_in_the_median():
    fail = Trial(number=1, params={}, state=TrialState.FAIL)
    seen = [trial(0, 1.0), fail, *(trial(number, 1.0) for number in range(2, 5))]
    assert not rule("median", 9, seen).report(90.0)
    assert rule("median", 10, [*seen, trial(5, 1.0)]).report(90.0)


@pytest.mark.parametrize("pruner", ["median", "hyperband"])
def test_reports_one_by_one_and_all_at_once_say_the_same(pruner):
    curve = [3.0 - 0.1 * at for at in range(20)]
    first = [trial(number, *(value - number for value in curve)) for number in range(8)]
    whole, parts = rule(pruner, 12, first), rule(pruner, 12, first)
    for value in curve:
        if whole.report(value):
            break
    for _ in range(2):  # who looks late reads what was there before
        for value in curve[len(parts.curve) :]:
            if parts.report(value):
                break
    assert (whole.pruned_at, whole.curve, whole.rungs) == (parts.pruned_at, parts.curve, parts.rungs)


def test_hyperband_holds_a_trial_against_what_others_noted():
    curve = [1.0] * 27
    first = []
    for number in range(12):
        one = rule("hyperband", number, first[: max(0, number - 4)])
        for value in curve:
            if one.report(value + number):
                break
        state = TrialState.COMPLETE if one.pruned_at is None else TrialState.PRUNED
        first.append(trial(number, *one.curve, state=state, rungs=one.rungs))
    assert any(one.rungs for one in first)
    assert any(one.state is TrialState.PRUNED for one in first)


@pytest.mark.parametrize(("window", "is_pruned"), [("at_least_9", False), ("at_most_9", True)])
def test_the_values_on_the_way_to_a_threshold_are_better_towards_it(window, is_pruned):
    fewest_steps = Objective(metric="m", window=Window.parse(f"first_step_{window}"), direction="minimize")
    one = PruningRule(definition(pruner="median", objective=fewest_steps), 9, EARLIER)
    assert any(map(one.report, (7.0, 8.0))) is is_pruned
