"""Questions about a training on labelled data: fine answers where they are deserved, each fault told."""

import math

import pytest

from reprokit.learning import Health, diagnose, is_well

CHANCE = math.log(10)


def run_with(**changed):
    good = {
        "initial/loss": ((0,), (CHANCE,)),
        "initial/chance_loss": ((0,), (CHANCE,)),
        "loss/train": ((1, 2, 3, 4), (2.3, 1.0, 0.3, 0.1)),
        "optim/grad_norm": ((1, 2, 3, 4), (1.0, 1.0, 0.8, 0.5)),
        "eval/loss": ((2, 3, 4), (1.0, 0.3, 0.12)),
        "eval/accuracy": ((2, 3, 4), (0.7, 0.9, 0.97)),
        "final/accuracy": ((4,), (0.97,)),
        "final/train_accuracy": ((4,), (0.99,)),
        "final/train_loss": ((4,), (0.09,)),
        "final/doubted_labels": ((4,), (0.01,)),
    }
    for name, values in changed.items():
        steps = good[name.replace("__", "/")][0]
        good[name.replace("__", "/")] = (steps[: len(values)], tuple(values))
    return good


def overfitted(**changed):
    tried = {"updates": 300, "loss": 0.001, "accuracy": 1.0, "why": "", **changed}
    return {"observed": {"gradients": {"w": [0.0, 1.0]}}, "overfitted": tried}


def asked(name, answers):
    return next(one for one in answers if one.id == name)


def test_a_good_training_has_nothing_but_fine_answers_and_is_not_asked_about_rewards():
    answers = diagnose(run_with(), probe=overfitted())
    assert {one.health for one in answers} == {Health.FINE}, answers
    assert [one.id for one in answers] == [
        "initial_loss",
        "numbers",
        "losses",
        "gradients",
        "overfits",
        "labels",
        "gap",
        "result",
    ]


def test_what_nobody_asked_or_logged_is_unknown():
    curves = {name: one for name, one in run_with().items() if not name.startswith(("initial", "final"))}
    answers = diagnose(curves)
    assert asked("initial_loss", answers).health is Health.UNKNOWN
    assert asked("overfits", answers).health is Health.UNKNOWN
    assert "--probe" in asked("overfits", answers).remedy
    assert is_well(answers)


@pytest.mark.parametrize(
    ("name", "health", "told", "changed"),
    [
        ("initial_loss", Health.WRONG, "8 before the first update", {"initial__loss": [8.0]}),
        ("initial_loss", Health.LOOK, "15% away", {"initial__loss": [CHANCE * 1.15]}),
        ("labels", Health.WRONG, "at most 11.0%", {"eval__accuracy": [0.1, 0.11, 0.1]}),
        (
            "labels",
            Health.UNKNOWN,
            "nothing is learned",
            {"eval__accuracy": [0.1, 0.11, 0.1], "final__train_loss": [2.3]},
        ),
        ("labels", Health.LOOK, "in 18.0% it takes another class", {"final__doubted_labels": [0.18]}),
        ("gap", Health.LOOK, "the best was 0.3 at step 3", {"eval__loss": [1.0, 0.3, 0.9]}),
        ("gap", Health.LOOK, "99.0% and 70.0% right", {"final__accuracy": [0.7]}),
        ("result", Health.LOOK, "0.1 → 0.1", {"eval__accuracy": [0.1, 0.1, 0.1]}),
        ("losses", Health.WRONG, "diverges", {"loss__train": [2.3, 1.0, 0.3, 99.0]}),
    ],
)
def test_a_fault_is_told_under_its_question(name, health, told, changed):
    answer = asked(name, diagnose(run_with(**changed)))
    assert (answer.health, told in answer.told) == (health, True), answer
    assert answer.remedy or health is Health.UNKNOWN


@pytest.mark.parametrize(
    ("changed", "health"),
    [
        ({"loss": 2.1, "accuracy": 0.2}, Health.WRONG),
        ({"loss": 0.05, "accuracy": 0.9}, Health.WRONG),
        ({"loss": 0.01, "accuracy": None}, Health.FINE),
        ({"loss": None, "accuracy": None, "why": "no such setting"}, Health.UNKNOWN),
    ],
)
def test_a_batch_that_is_not_memorised_is_the_learners_fault(changed, health):
    assert asked("overfits", diagnose(run_with(), probe=overfitted(**changed))).health is health


def test_a_run_with_returns_is_asked_the_questions_about_playing():
    answers = diagnose({**run_with(), "train/episodic_return": ((1, 2), (1.0, 2.0))})
    assert answers[0].id == "reward"
