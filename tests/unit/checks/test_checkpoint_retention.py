"""Where a recipe keeps only its last checkpoints: these are there, the others left their digests, or red."""

from dataclasses import replace

import pytest

from reprokit import checks
from reprokit.core.verdicts.rows import Status
from support import planted

KEPT = ("checkpoint_81920.pt", "checkpoint_90112.pt", "checkpoint_100352.pt", "final_model.pt")
CHECK = next(check for check in checks.discover() if check.ID == "checkpoints_complete")


def kept(*, keep=3, there=KEPT, without=(), **forged):
    """Clean evidence of runs that kept their last checkpoints; ``forged``: name of a file → its entry."""
    evidence = planted.clean()
    runs = []
    for run in evidence.runs:
        removed = {
            name: {"sha256": f"sha256:{'a' * 64}", "step": entry["step"], "bytes": 5}
            for name, entry in run.checkpoints.items()
            if name not in KEPT and name not in without
        }
        files = {name: entry for name, entry in run.checkpoints.items() if name in there}
        runs.append(replace(run, checkpoints=files, checkpoints_removed={**removed, **forged}))
    recipe = {**evidence.recipe, "checkpoints": {"keep": keep}}
    return CHECK.check(replace(evidence, recipe=recipe, runs=tuple(runs)))


def test_the_last_ones_and_the_digests_of_the_others_are_enough():
    found = kept()
    assert found.status is Status.PASSED
    assert found.reason == (
        "3 checkpoints (checkpoints.keep: 3; 7 earlier digests) and the final model, all unchanged and "
        "loadable, in every run"
    )


def test_a_recipe_that_says_nothing_keeps_all():
    for keep in (None, 0, -3, "3", True, 3.0):
        assert kept(keep=keep).status is Status.FAILED


def test_one_too_few_is_missing():
    assert "checkpoint_71680.pt is missing (due at step 70000)" in kept(keep=4).reason
    assert kept(there=KEPT[1:]).status is Status.FAILED
    assert kept(there=KEPT[:-1]).status is Status.FAILED


@pytest.mark.parametrize(
    "entry",
    [
        {},
        {"sha256": "", "step": 10240},
        {"sha256": "sha256:aa", "step": 10240},
        {"sha256": 5, "step": 10240},
        {"sha256": f"sha256:{'a' * 64}", "step": 5},
    ],
)
def test_one_that_left_no_digest_was_never_written(entry):
    name = "checkpoint_10240.pt"
    assert f"{name} is missing" in kept(without=(name,)).reason
    assert f"{name} is missing" in kept(**{name: entry}).reason


def test_one_that_was_never_due_is_not_taken_for_kept():
    assert "never due" in kept(**{"checkpoint_7.pt": {"sha256": f"sha256:{'a' * 64}", "step": 7}}).reason
