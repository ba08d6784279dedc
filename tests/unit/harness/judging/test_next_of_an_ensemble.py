"""What to type next where an ensemble decided."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from reprokit.core.checklist import Verdict
from reprokit.core.evidence import EnsembleEvidence
from reprokit.harness.judging import ensemble_wording

FOLDER = "golden/train/cpu-x86_64/ensemble"


@pytest.fixture
def next_command(monkeypatch):
    def asked(verdict: Verdict, **facts: Any) -> str | None:
        ensemble = EnsembleEvidence(path=FOLDER, num_seeds=20, **facts)
        monkeypatch.setattr(ensemble_wording, "decided", lambda _evidence, _judged: ensemble)
        evidence: Any = SimpleNamespace(recipe={"name": "train"}, golden=None, rerun="")
        judged: Any = SimpleNamespace(verdict=verdict)
        return ensemble_wording.next_command(evidence, judged)

    return asked


def test_an_ensemble_of_too_few_seeds_is_made_again_of_more(next_command):
    told = next_command(Verdict.UNJUDGED, reason="no number is enough: the ensemble has too few seeds")
    assert told == "reprokit sweep train --seeds 40, then: reprokit golden promote train --sweep --reason …"


def test_any_other_ensemble_that_cannot_judge_is_shown(next_command):
    assert next_command(Verdict.UNJUDGED, reason="another reason") == f"reprokit golden show {FOLDER}"


@pytest.mark.parametrize(("num_new", "is_all"), [(10, True), (5, False)])
def test_where_more_seeds_would_do_both_sides_run_them(next_command, monkeypatch, num_new, is_all):
    monkeypatch.setattr(ensemble_wording.git_history, "last_commit", lambda _path: "7c299fd0f4a1b2c3d4e5")
    gate = {"new": {str(seed): {} for seed in range(num_new)}, "outcome": {"seeds_more": 4}}
    told = next_command(Verdict.UNJUDGED, reason="not excluded", gate=gate)
    compares = "reprokit compare train --a 7c299fd0f4a1 --seeds 17"
    assert told == (compares if is_all else f"reprokit golden show {FOLDER}")


@pytest.mark.parametrize(
    ("seeds", "option"), [((11, 12, 13), "--seeds 11..13"), ((11, 13), "--seeds 11,13"), ((7,), "--seeds 7,")]
)
def test_a_regression_names_the_seeds_that_were_judged(next_command, seeds, option):
    gate = {"new": {str(seed): {} for seed in seeds}}
    told = next_command(Verdict.REGRESSION, gate=gate, runs=("runs/train/first",))
    assert f" --same-inputs-as first {option} --html reports/seeds.html" in told
