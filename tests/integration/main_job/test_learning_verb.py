"""``runs learning --probe`` on real runs: inside the recipe's own environment, sound and with faults."""

import json

import pytest

pytestmark = pytest.mark.slow


def answers(study, *words):
    done = study.reprokit("learning", str(study.runs[-1].parent), "--backend", "local", "--json", *words)
    assert done.out, done.err
    return done.code, {one["id"]: one for one in json.loads(done.out)["answers"]}


def test_the_baseline_learns_and_can_memorise(study):
    assert study.reprokit("run", "cartpole_baseline", "--backend", "local").code == 0
    code, found = answers(study, "--probe")
    assert code == 0, found
    assert {found[name]["health"] for name in ("environment", "numbers", "gradients", "memorise")} == {"fine"}


def test_a_policy_that_flees_from_reward_cannot_memorise(study):
    study.change(study.trainer, "policy_loss = -(part.advantages", "policy_loss = (part.advantages")
    assert study.reprokit("run", "cartpole_baseline", "--backend", "local").code == 0
    code, found = answers(study, "--probe")
    assert (code, found["memorise"]["health"]) == (1, "wrong"), found


def test_a_nan_is_traced_to_its_operation_and_line(study):
    study.change(
        study.trainer,
        "ratio = (log_probs - part.log_probs).exp()",
        "ratio = (log_probs - part.log_probs).sqrt()",
    )
    study.reprokit("run", "cartpole_baseline", "--backend", "local")
    code, found = answers(study, "--probe")
    assert code == 1
    assert "the gradient of SqrtBackward0, at ppo.py:" in found["numbers"]["told"], found["numbers"]
