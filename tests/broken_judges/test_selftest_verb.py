"""`reprokit selftest` and `reprokit verify --selftest` on real runs, as a person types them."""

from __future__ import annotations

import json
import shutil

import pytest

from reprokit import adapters
from reprokit.errors import CannotJudgeError
from reprokit.features.selftest import gate, judging
from reprokit.features.selftest.gate import exit_code, prove
from reprokit.features.selftest.score import run
from reprokit.features.selftest.score_lines import end_lines
from reprokit.features.selftest.table import KINDS
from reprokit.harness import Request, judge_again
from reprokit.session import Session
from reprokit.workspace import sha256_of_tree


@pytest.mark.slow
def test_it_prints_a_score_and_touches_nothing(study):
    before = sha256_of_tree(study.root)
    answer = study.reprokit("selftest", "cartpole_baseline", "--faults", "70", "--clean", "2")
    assert answer.code == 0, answer.out + answer.err
    assert "one flipped bit in a float" in answer.out
    assert "kinds were not planted. 70 of 70 faults led to their verdict, 2 of 2" in answer.out
    assert sha256_of_tree(study.root) == before


def test_json_holds_the_whole_score(study):
    answer = study.reprokit("selftest", "--faults", "3", "--clean", "1", "--seed", "5", "--json")
    told = json.loads(answer.out)
    assert (told["exit_code"], told["seed"], told["recipe"]) == (0, 5, "cartpole_baseline")
    assert told["faults"] == {"planted": 3, "found": 3}
    assert told["clean"] == {"copies": 1, "reproduced": 1}
    assert (told["misses"], told["not_planted"]) == ([], [])
    assert {row["planted"] for row in told["kinds"]} == {1}


def test_one_fault_is_planted_again_by_its_id(study, samples):
    arguments = ("selftest", "--runs", *map(str, samples.runs), "--only", "nan/both/sealed/3")
    answer = study.reprokit(*arguments)
    assert answer.code == 0
    assert "expected  REGRESSION" in answer.out
    assert "answer    REGRESSION, exit code 1" in answer.out
    assert study.reprokit(*arguments).out == answer.out


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("--only", "nan/nowhere/sealed/0"), 2, "no fault has the ID"),
        (("no_such_recipe",), 2, "there is no recipe"),
        (("--faults", "0"), 2, "Invalid value for '--faults': 0"),
        (("--clean", "0"), 2, "Invalid value for '--clean': 0"),
    ],
)
def test_what_cannot_be_done_is_said(study, arguments, code, words):
    answer = study.reprokit("selftest", *arguments)
    assert answer.code == code
    assert words in answer.out + answer.err


@pytest.mark.parametrize("named", ["the same run", "a link to it", "its copy"])
def test_one_run_named_twice_is_no_pair(study, samples, tmp_path, named):
    first, again = samples.runs[0], tmp_path / samples.runs[0].name
    if named == "the same run":
        again = first
    elif named == "a link to it":
        again = tmp_path / "another"
        again.symlink_to(first)
    else:
        shutil.copytree(first, again)
    answer = study.reprokit("selftest", "--runs", str(first), str(again), "--faults", "1")
    assert answer.code == 2
    assert "one run is named twice" in answer.err


def test_a_selftest_that_could_plant_nothing_proves_nothing(samples, silent, monkeypatch):
    def no_place(*_arguments: object, **_options: object) -> None:
        raise CannotJudgeError("no place for it")

    monkeypatch.setattr(judging, "judged", no_place)
    score = run(samples, num_faults=20, num_clean=2, seed=0, progress=silent)
    assert (score.planted, score.clean.right, score.exit_code) == (0, 2, 4)
    assert "The gate cannot be trusted: 0 of 0 faults" in list(end_lines(score, command=[]))[-1]


def test_a_selftest_of_a_few_kinds_of_fault_does_not_say_that_the_gate_can_be_trusted(samples, silent):
    score = run(samples, num_faults=1, num_clean=1, seed=0, progress=silent)
    told = list(end_lines(score, command=[]))[-1]
    assert (score.exit_code, score.kinds_left) == (0, len(KINDS) - 1)
    assert told.startswith("Too few faults to say that the gate can be trusted: ")
    assert told.endswith("1 of 1 faults led to their verdict, 1 of 1 clean copies to REPRODUCED.")


def test_runs_that_differ_prove_nothing_about_the_gate(study, samples):
    others = [str(path) for path in sorted((study.root / "runs" / "cartpole_baseline").iterdir())]
    answer = study.reprokit("selftest", "--runs", str(samples.runs[0]), others[-1])
    assert answer.code == 4
    assert "prove nothing about the gate" in answer.err


def test_the_gate_proves_itself_on_the_runs_that_it_judged(samples, project, silent, monkeypatch):
    monkeypatch.setattr(gate, "NUM_FAULTS", 20)
    report = judge_again(samples.runs, Request(), project=project)
    (proof,) = prove([report], session=Session(project=project, progress=silent))
    assert (proof.trusted, proof.because, proof.score.planted) == (True, "", 20)
    assert exit_code([proof]) is None


def test_a_gate_that_misses_a_fault_ends_with_4_whatever_it_found(samples, project, silent, monkeypatch):
    report = judge_again(samples.runs, Request(), project=project)
    real = adapters.compare
    monkeypatch.setattr(
        adapters, "compare", lambda expected, actual, tolerances=None: real(expected, expected)
    )
    (proof,) = prove([report], session=Session(project=project, progress=silent))
    assert not proof.trusted
    assert exit_code([proof]) == 4


@pytest.mark.slow
def test_verify_with_selftest_says_that_it_can_be_trusted(study):
    answer = study.reprokit("verify", "cartpole_baseline", "--backend", "local", "--selftest")
    assert answer.code == 0, answer.out + answer.err
    assert "The gate can be trusted: 150 of 150 faults" in answer.out
