"""The statistical gate as a person types it, on the real recipe and trainer, cut to a few updates."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from support.study_project import Study, make_study

_DECLARED = "\nstatistical: {metric: final/return_mean, window: last, margin: 60.0, direction: higher}\n"
_SLOWER = ("learning_rate: 3e-4", "learning_rate: 1e-7")


def _commit(root: Path) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    for words in (["add", "--all"], ["commit", "--quiet", "--message", "a change"]):
        subprocess.run(["git", *identity, *words], cwd=root, check=True)


@pytest.fixture(scope="module")
def study(tmp_path_factory) -> Study:
    root = tmp_path_factory.mktemp("study")
    made = make_study(root)
    (root / ".gitignore").write_text("runs/\nreports/\n")
    made.recipe.write_text(made.recipe.read_text() + _DECLARED)
    subprocess.run(["git", "init", "--quiet"], cwd=root, check=True)
    _commit(root)
    return made


@pytest.mark.slow
@pytest.mark.timeout(3000)
def test_a_training_that_learns_nothing_more_is_a_regression(study: Study) -> None:
    """Quicker, and with every other answer: tests/unit/harness/test_statistical_gate.py."""
    swept = study.reprokit("sweep", "cartpole_baseline", "--seeds", "10", "--backend", "local", timeout=1500)
    assert swept.code == 0, swept.err
    promoted = study.reprokit(
        *("golden", "promote", "cartpole_baseline", "--sweep", "--min-seeds", "10", "--reason", "first")
    )
    assert promoted.code == 0, promoted.err
    _commit(study.root)
    asked = ("verify", "cartpole_baseline", "--statistical", "--backend", "local", "--json")
    same = study.reprokit(*asked, timeout=1500)
    (report,) = json.loads(same.out)["reports"]
    assert (same.code, report["verdict"]) == (0, "REPRODUCED"), report["sentence"]
    study.change(study.recipe, *_SLOWER)
    _commit(study.root)
    worse = study.reprokit(*asked, timeout=1500)
    (report,) = json.loads(worse.out)["reports"]
    assert (worse.code, report["verdict"]) == (1, "REGRESSION"), report["sentence"]
    assert report["sentence"].startswith("final/return_mean is worse than the ")
    assert report["statistical"]["outcome"]["conclusion"] == "REGRESSION"
