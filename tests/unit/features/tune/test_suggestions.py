"""The settings of a trial follow from seed, number and the results before its lag, and from nothing else."""

from __future__ import annotations

import math
import random

import pytest

from reprokit.errors import UsageError
from reprokit.features.tune.definition import LAG, Definition, best_of, most_at_one_time
from reprokit.features.tune.studies import Trial, TrialState
from reprokit.features.tune.trials.samplers import distribution_of, rounded
from reprokit.features.tune.trials.suggestions import Suggestions, grid_values
from reprokit.recipes import Distribution
from support.search import KIND, RATE, WIDTH, definition

TRIALS = 30


def result(number, params, *, changed=0.0) -> Trial:
    """A trial of which every seventh fails."""
    trial = Trial(number=number, params=params)
    if number % 7 == 6:
        return Trial(number=number, params=params, state=TrialState.FAIL, message="crashed: exit code 1")
    value = (params["rate"] - 0.01) ** 2 + params["width"] / 100 + changed
    return Trial(number=trial.number, params=params, state=TrialState.COMPLETE, value=value)


def search(asked: Definition, *, workers: int, order: random.Random, value_of=result) -> list[dict]:
    """All settings, of trials that end in an order of chance, at most so many under way at one time."""
    suggestions, drawn, running = Suggestions(asked), {}, {}
    while len(drawn) < TRIALS or running:
        for number in range(TRIALS):
            if number not in drawn and len(running) < workers:
                params = suggestions.settings_of(number)
                if params is None:
                    break
                drawn[number] = running[number] = params
        ends = order.choice(sorted(running))
        suggestions.result(value_of(ends, running.pop(ends)))
    return [drawn[number] for number in range(TRIALS)]


@pytest.mark.parametrize("sampler", ["tpe", "cmaes", "random", "one-at-a-time"])
def test_neither_workers_nor_the_order_of_ends_changes_a_trial(sampler):
    expected = search(definition(sampler), workers=1, order=random.Random(0))
    for workers in (2, 4, 5):
        for chance in range(3):
            assert search(definition(sampler), workers=workers, order=random.Random(chance)) == expected


@pytest.mark.parametrize("sampler", ["tpe", "cmaes"])
def test_a_trial_sees_the_results_before_its_lag_and_no_other(sampler):
    def later_changed(number, params):
        return result(number, params, changed=-5.0 * number if number >= 15 else 0.0)

    before = search(definition(sampler), workers=1, order=random.Random(0))
    after = search(definition(sampler), workers=1, order=random.Random(0), value_of=later_changed)
    first = 15 + LAG + 1
    assert after[:first] == before[:first]
    assert after[first:] != before[first:]


def test_a_trial_waits_for_the_results_that_it_sees():
    suggestions = Suggestions(definition())
    assert all(suggestions.settings_of(number) is not None for number in range(LAG + 1))
    assert suggestions.settings_of(LAG + 1) is None
    for number in (1, 2, 3, 4):
        suggestions.result(result(number, suggestions.settings_of(number)))
    assert suggestions.settings_of(LAG + 1) is None, "the results of later trials are no help"
    suggestions.result(result(0, suggestions.settings_of(0)))
    assert suggestions.settings_of(LAG + 1) is not None


def test_more_trials_leave_the_first_as_they_were():
    suggestions = Suggestions(definition("random"))
    first = [suggestions.settings_of(number) for number in range(5)]
    again = Suggestions(definition("random"))
    assert [again.settings_of(number) for number in range(50)][:5] == first


def test_another_seed_draws_other_settings():
    one, other = (Suggestions(definition("random", seed=seed)).settings_of(0) for seed in (1, 2))
    assert one != other


def test_values_are_those_of_the_space():
    for params in search(definition("cmaes"), workers=1, order=random.Random(0)):
        assert 1e-5 <= params["rate"] <= 1e-1
        assert params["width"] in range(8, 65)
        assert type(params["width"]) is int
        assert params["kind"] in ("a", [1, 2], None)


def test_numbers_have_six_digits_so_that_another_processor_draws_the_same():
    log, plain = (
        distribution_of(RATE),
        distribution_of(Distribution(setting="x", kind="float", low=100.0, high=101.0)),
    )
    assert rounded(0.00123456789, log) == 0.00123457
    assert rounded(0.00123456789 * (1 + 1e-15), log) == 0.00123457
    assert rounded(100.123456789, plain) == 100.12346
    assert rounded(1e-5 * (1 - 1e-16), log) == 1e-5


def test_a_grid_is_every_combination_the_last_setting_first():
    size = Distribution(setting="size", kind="int", low=1, high=5, step=2)
    suggestions = Suggestions(definition("grid", space=(size, KIND)))
    assert [suggestions.settings_of(number) for number in range(4)] == [
        {"size": 1, "kind": "a"},
        {"size": 1, "kind": [1, 2]},
        {"size": 1, "kind": None},
        {"size": 3, "kind": "a"},
    ]
    assert suggestions.settings_of(8) is not None
    assert suggestions.settings_of(9) is None
    assert suggestions.has_ended(9)


def test_a_grid_over_any_number_is_refused_with_the_line():
    one = Distribution(setting="rate", kind="float", low=0.0, high=1.0, where="space.yaml:4")
    with pytest.raises(UsageError, match=r"space.yaml:4: rate has no points"):
        grid_values(one)


def test_steps_reach_the_upper_end():
    assert grid_values(Distribution(setting="x", kind="float", low=0.1, high=0.7, step=0.1))[-1] == (
        pytest.approx(0.7)
    )


def test_a_search_is_named_by_what_it_is_and_not_by_how_many_trials_it_has():
    assert definition().name == definition().name
    names = {
        definition().name,
        definition("random").name,
        definition(seed=8).name,
        definition(lag=0).name,
        definition(space=(WIDTH, RATE, KIND)).name,
    }
    assert len(names) == 5


def test_one_at_a_time_begins_with_the_recipe_and_changes_one_setting_in_the_order_of_the_space():
    start = {"rate": 3e-4, "width": 16, "kind": "a"}
    asked = definition("one-at-a-time", start=start, lag=0)
    drawn = search(asked, workers=1, order=random.Random(0))
    assert drawn[0] == start
    results = [result(number, params) for number, params in enumerate(drawn)]
    for number in range(1, 16):
        best = best_of(results[:number], asked)
        changed = {name for name in start if drawn[number][name] != best.params[name]}
        assert changed <= {("rate", "width", "kind")[(number - 1) // 5]}


def test_so_many_trials_as_the_lag_and_one_more_can_run_side_by_side():
    assert most_at_one_time(definition(lag=4)) == 5
    assert most_at_one_time(definition("random")) == math.inf
    assert most_at_one_time(definition("random", pruner="median")) == 5
