"""Questions about a run's learning: every answer on curves that deserve it, none where no one asked."""

import math

import pytest

from reprokit.learning import Health, diagnose, is_well

STEPS = tuple(range(1000, 21_000, 1000))


def rising(low=20.0, high=480.0):
    return [low + (high - low) * index / 19 for index in range(20)]


def curves(**changed):
    good = {
        "train/episodic_return": rising(),
        "eval/return_mean": rising(100.0, 500.0),
        "loss/policy": [-0.01] * 20,
        "loss/value": rising(80.0, 10.0),
        "optim/grad_norm": [1.0] * 20,
        "policy/entropy": rising(0.69, 0.4),
        "policy/approx_kl": [0.004] * 20,
        "policy/clip_fraction": [0.05] * 20,
        "value/explained_variance": rising(0.0, 0.9),
    }
    for name, values in changed.items():
        good[name.replace("__", "/")] = values
    return {
        name: (STEPS[: len(values)], tuple(values)) for name, values in good.items() if values is not None
    }


def seen(**changed):
    environment = {
        "id": "CartPole-v1",
        "steps": 8192,
        "episodes": {"terminated": 300, "truncated": 0},
        "rewards": {
            "min": 1.0,
            "max": 1.0,
            "mean": 1.0,
            "share_zero": 0.0,
            "distinct": [1.0],
            "num_distinct": 1,
            "mean_at_termination": 1.0,
        },
        "actions": {"0": 0.5, "1": 0.5},
        "places": {"not_finite": 0, "cells": 500, "share_of_most_visited": 0.07, "ranges": []},
    }
    for name in ("rewards", "places", "actions"):
        environment[name] = {**environment[name], **changed.pop(name, {})}
    observed = {
        "environments": [environment],
        "gradients": {"w": [0.5, 0.2], "b": [0.1, 0.1]},
        "nan": None,
        "spoilt": None,
        **changed.pop("observed", {}),
    }
    checked = [{"id": "CartPole-v1", "problem": "", "warnings": [], "num_actions": 2}]
    tried = [{"action": one, "steps": 8192, "return": 1.0, "why": ""} for one in ("first", "last")]
    return {"observed": observed, "environments": checked, "memorised": tried, **changed}


def asked(name, answers):
    return next(one for one in answers if one.id == name)


def test_a_good_run_with_a_probe_has_nothing_but_fine_answers():
    answers = diagnose(curves(), settings={"training": {"max_grad_norm": 1.5}}, probe=seen())
    assert {one.health for one in answers} == {Health.FINE}, answers
    assert [one.id for one in answers] == [
        "reward",
        "environment",
        "numbers",
        "losses",
        "gradients",
        "memorise",
        "exploration",
        "updates",
        "result",
    ]
    assert is_well(answers)


def test_what_nobody_asked_is_unknown_and_says_how_to_ask():
    answers = diagnose(curves())
    for name in ("environment", "memorise"):
        assert asked(name, answers).health is Health.UNKNOWN
        assert "--probe" in asked(name, answers).remedy
    assert is_well(answers)


def test_a_run_that_logs_nothing_of_use_is_unknown_everywhere_but_in_its_numbers():
    answers = diagnose({"a/b": ((1, 2), (0.5, 0.25))})
    assert {one.id for one in answers if one.health is Health.FINE} == {"numbers"}


@pytest.mark.parametrize(
    ("name", "health", "told", "changed"),
    [
        ("reward", Health.WRONG, "between 9 and 9", {"train__episodic_return": [9.0] * 20}),
        ("numbers", Health.WRONG, "loss/value is nan at step 3000", {"loss__value": [1.0, 1.0, math.nan]}),
        ("numbers", Health.WRONG, "loss/policy is -inf at step 2000", {"loss__policy": [1.0, -math.inf]}),
        ("losses", Health.WRONG, "more than 10 times", {"loss__value": [1.0] * 18 + [99.0] * 2}),
        ("gradients", Health.WRONG, "0 at most", {"optim__grad_norm": [0.0] * 20}),
        ("gradients", Health.LOOK, "50 at the end", {"optim__grad_norm": [1.0] * 18 + [50.0] * 2}),
        ("gradients", Health.UNKNOWN, "no gradient norm", {"optim__grad_norm": None}),
        ("updates", Health.LOOK, "100% of ratios clipped", {"policy__clip_fraction": [1.0] * 20}),
        ("exploration", Health.LOOK, "0.69 → 0.001", {"policy__entropy": [0.69] + [0.001] * 19}),
        ("updates", Health.LOOK, "0.5 at most", {"policy__approx_kl": [0.004] * 19 + [0.5]}),
        ("result", Health.LOOK, "489.5 → 110.5", {"eval__return_mean": rising(500.0, 100.0)}),
        ("result", Health.LOOK, "best 500", {"eval__return_mean": [100.0] * 5 + [500.0] * 5 + [150.0] * 10}),
        ("result", Health.UNKNOWN, "too few", {"eval__return_mean": [100.0, 500.0]}),
    ],
)
def test_what_is_odd_in_the_metrics_is_told(name, health, told, changed):
    answer = asked(name, diagnose(curves(**changed)))
    assert (answer.health, told in answer.told) == (health, True), answer
    assert answer.remedy or health is Health.UNKNOWN


@pytest.mark.parametrize(
    ("name", "health", "told", "changed"),
    [
        ("reward", Health.LOOK, "pays 0", {"rewards": {"min": 0.0, "max": 0.0, "distinct": [0.0]}}),
        ("crash", Health.WRONG, "ValueError: no", {"observed": {"ended": "ValueError: no"}}),
        ("environment", Health.WRONG, "X: bad", {"environments": [{"id": "X", "problem": "bad"}]}),
        ("environment", Health.WRONG, "not finite", {"places": {"not_finite": 3}}),
        (
            "numbers",
            Health.WRONG,
            "the first NaN comes out of aten.log at ppo.py:7 in update",
            {
                "observed": {
                    "nan": {"operation": "aten.log", "file": "ppo.py", "line": 7, "function": "update"}
                }
            },
        ),
        ("numbers", Health.WRONG, "no metric shows it", {"observed": {"spoilt": {"step": 5}}}),
        ("gradients", Health.LOOK, "none ever reaches b", {"observed": {"gradients": {"w": [1], "b": [0]}}}),
        ("gradients", Health.WRONG, "", {"observed": {"gradients": {"w": [0.0], "b": [0.0]}}}),
        (
            "memorise",
            Health.WRONG,
            "0 of 1 where the last action pays",
            {
                "memorised": [
                    {"action": "first", "steps": 5, "return": 1.0, "why": ""},
                    {"action": "last", "steps": 5, "return": 0.0, "why": ""},
                ]
            },
        ),
        (
            "memorise",
            Health.UNKNOWN,
            "it is never evaluated",
            {"memorised": [{"action": "first", "steps": 5, "return": None, "why": "it is never evaluated"}]},
        ),
        ("exploration", Health.LOOK, "the busiest 95%", {"places": {"share_of_most_visited": 0.95}}),
        ("exploration", Health.LOOK, "0 99%", {"actions": {"0": 0.99, "1": 0.01}}),
    ],
)
def test_what_the_probe_saw_is_told(name, health, told, changed):
    answer = asked(name, diagnose(curves(), probe=seen(**changed)))
    assert (answer.health, told in answer.told) == (health, True), answer


def test_no_reward_while_it_was_watched_and_none_in_any_episode_is_wrong():
    nothing = seen(rewards={"min": 0.0, "max": 0.0, "distinct": [0.0]})
    for returns in ([0.0] * 20, [0.0], None):
        assert (
            asked("reward", diagnose(curves(train__episodic_return=returns), probe=nothing)).health
            is Health.WRONG
        )


@pytest.mark.parametrize(
    ("returns", "told"),
    [
        ([0.0, 100.0, 50.0, 98.0, 100.0], "from step 4000 on"),
        ([100.0, 100.0, 96.0], "best 100"),
        ([-500.0, -90.0, -80.0], "from step 2000 on"),
        ([math.nan, 50.0, 100.0, 99.0], "from step 3000 on"),
    ],
)
def test_the_step_of_convergence_is_the_first_after_which_it_stays(returns, told):
    assert told in asked("result", diagnose(curves(eval__return_mean=returns))).told


def test_returns_before_the_first_episode_ended_are_no_fault():
    found = diagnose(curves(train__episodic_return=[math.nan, *rising()[1:]]))
    assert asked("numbers", found).health is Health.FINE
    later = diagnose(curves(train__episodic_return=[*rising()[:-1], math.nan]))
    assert asked("numbers", later).health is Health.WRONG


def test_a_log_that_names_the_operation_is_quoted():
    found = asked("numbers", diagnose(curves(), anomaly="anomaly detection says: Function 'LogBackward0' …"))
    assert (found.health, "LogBackward0" in found.told) == (Health.WRONG, True)


@pytest.mark.parametrize(("most", "health"), [(90.0, Health.FINE), (150.0, Health.WRONG)])
def test_q_values_beyond_what_returns_can_be_are_wrong(most, health):
    found = curves(q__magnitude=rising(1.0, most), q__bound=[99.3] * 20)
    assert asked("q_values", diagnose(found)).health is health
    assert is_well(diagnose(found)) is (health is Health.FINE)


def test_wrong_is_the_only_answer_that_fails():
    assert not is_well(diagnose(curves(loss__policy=[math.nan] * 20)))
    assert is_well(diagnose(curves(policy__approx_kl=[0.5] * 20)))


@pytest.mark.parametrize(("bound", "health"), [(0.5, Health.LOOK), (1.5, Health.FINE), (None, Health.FINE)])
def test_a_training_with_every_gradient_clipped_is_not_called_fine(bound, health):
    answer = asked("gradients", diagnose(curves(), settings={"training": {"max_grad_norm": bound}}))
    assert answer.health is health
    assert ("max_grad_norm 0.5 in 100% of the records" in answer.told) == (bound == 0.5)
