"""``reprokit tune``: what is typed reaches the harness, and what comes of it is the exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reprokit import cli
from reprokit.features.tune import tune as tuning
from reprokit.features.tune.asked import AfterSearch, Asked
from reprokit.features.tune.studies import Trial, TrialState
from reprokit.features.tune.study import Study
from support.search import definition

DONE = Trial(number=0, params={"rate": 0.5}, state=TrialState.COMPLETE, value=1.5, values=(1.5,))
FAILED = Trial(number=1, params={"rate": 0.1}, state=TrialState.FAIL, message="crashed: exit code 1")
WAITING = Trial(number=2, params={})
ASKED = ("train", "--space", "space.yaml", "--trials", "2")


@pytest.fixture
def ask(monkeypatch, tmp_path, capsys):
    """Types a line; the exit code, stdout and what the harness was asked for."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "space.yaml").write_text("rate: {type: float, low: 0, high: 1}\n")

    def typed(*words: str, trials=(DONE,)):
        got = {}

        def tune(name, request, asked, **options):
            got.update(name=name, request=request, asked=asked, **options)
            return Study(
                definition=definition(), path=Path("study.json"), trials=trials, messages={1: "exit code 1"}
            )

        monkeypatch.setattr(tuning, "tune", tune)
        with pytest.raises(SystemExit) as ended:
            cli.main(["tune", *words])
        return ended.value.code, capsys.readouterr().out, got

    return typed


def test_what_is_typed_is_asked_for(ask):
    line = (
        "train --space space.yaml --trials 9 --seed 4 --sampler random --pruner median --lag 2 --metric loss "
        "--window best_low --direction minimize --seeds 1,2 --set x=1 --workers 3 --retry-failed --timeout 9"
        " --report-seeds 7, --save-best good"
    )
    code, _, got = ask(*line.split())
    assert (code, got["name"], got["workers"], got["dry_run"]) == (0, "train", 3, False)
    assert [one.setting for one in got["asked"].space] == ["rate"]
    assert got["asked"] == Asked(
        space=got["asked"].space,
        trials=9,
        seed=4,
        settings=("x=1",),
        seeds="1,2",
        metric="loss",
        window="best_low",
        direction="minimize",
        sampler="random",
        pruner="median",
        lag=2,
        retry_failed=True,
        after=AfterSearch(seeds="7,", save_as="good"),
    )
    assert (got["request"].timeout_s, got["request"].seed) == (9.0, None), "--seed is the search's"


def test_json_has_a_row_for_each_trial(ask):
    code, out, _ = ask(*ASKED, "--json", trials=(DONE, FAILED))
    answer = json.loads(out)
    assert (code, answer["exit_code"], answer["best"], answer["path"]) == (0, 0, 0, "study.json")
    assert [(row["number"], row["params"], row["value"], row["state"]) for row in answer["trials"]] == [
        (0, {"rate": 0.5}, 1.5, "COMPLETE"),
        (1, {"rate": 0.1}, None, "FAIL"),
    ]


@pytest.mark.parametrize(("trials", "code"), [((DONE, FAILED), 0), ((FAILED,), 3), ((DONE, WAITING), 3)])
def test_the_exit_code_says_whether_every_trial_ended_and_one_has_a_value(ask, trials, code):
    assert ask(*ASKED, trials=trials)[0] == code


def test_a_person_is_told_the_best_and_why_others_failed(ask):
    _, out, _ = ask(*ASKED, trials=(DONE, FAILED))
    assert "Best: trial 0 with 1.5" in out
    assert "trial 1: exit code 1" in out


@pytest.mark.parametrize(
    "words",
    ["train", "--space space.yaml", "train --space no.yaml --trials 1", "train --space space.yaml --lag -1"],
)
def test_wrong_usage_is_2(ask, words):
    assert ask(*words.split())[0] == 2
