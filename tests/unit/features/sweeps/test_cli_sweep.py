"""``reprokit sweep``: what is typed reaches the harness, and what comes of it is the exit code."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from reprokit import cli, harness
from reprokit.runs.sweeps import MemberState, SweepMember

DONE = SweepMember(recipe="train", seed=3, state=MemberState.COMPLETE, run="train/a")
CRASHED = SweepMember(recipe="train", seed=4, state=MemberState.CRASHED, message="exit code 1")


@pytest.fixture
def ask(monkeypatch, tmp_path, capsys):
    """Types a line; the exit code, stdout and what the harness was asked for."""
    monkeypatch.chdir(tmp_path)

    def typed(*words: str, members=(DONE,)):
        asked = {}

        def sweep(members_asked, request, **options):
            asked.update(asdict(members_asked), request=request, **options)
            actions = tuple("reuse" for _ in members)
            return harness.Sweep(name="train-1", path=Path("sweep.json"), members=members, actions=actions)

        monkeypatch.setattr(harness, "sweep", sweep)
        with pytest.raises(SystemExit) as ended:
            cli.main(["sweep", *words])
        return ended.value.code, capsys.readouterr().out, asked

    return typed


def test_what_is_typed_is_asked_for(ask, tmp_path):
    line = (
        "a b --seeds 0..4 --set x=1,2 --set y=3 --jobs 2 --backend local --timeout 9 --runs-dir r --dry-run"
    )
    code, _, asked = ask(*line.split())
    assert (code, asked["names"], asked["seeds"], asked["settings"]) == (
        0,
        ("a", "b"),
        "0..4",
        ("x=1,2", "y=3"),
    )
    assert (asked["jobs"], asked["on"], asked["dry_run"]) == (2, "local", True)
    assert (asked["request"].backend, asked["request"].timeout_s) == ("local", 9.0)
    assert asked["session"].project.runs_dir == tmp_path / "r"
    assert (asked["request"].overrides, asked["request"].seed) == ((), None)


def test_words_for_the_command_may_be_given_several_times(ask):
    _, _, asked = ask("a", "--args", "--lr 0.05", "--args=--lr 0.2")
    assert asked["arguments"] == ("--lr 0.05", "--lr 0.2")


def test_a_platform_is_a_setting_that_every_member_has(ask):
    _, _, asked = ask("a", "--platform", "xla-cpu", "--set", "x=1,2")
    assert asked["settings"] == ("platform=xla-cpu", "x=1,2")


def test_it_ends_with_the_command_that_shows_its_results(ask):
    assert ask("train")[1].endswith("\nnext: reprokit stats train-1\n")
    assert ask("train", "--runs-dir", "r")[1].endswith("\nnext: reprokit stats sweep.json\n")
    many = [replace(DONE, seed=seed) for seed in range(30)]
    said = ask("train", members=many)[1].splitlines()
    assert (len(said), said[-1]) == (11, "next: reprokit stats train-1"), "a pipe has it too"


@pytest.mark.parametrize("words", [("--dry-run",), ("--json",)])
def test_no_next_command_stands_where_nothing_was_run_or_below_json(ask, words):
    assert "next: " not in ask("train", *words)[1]
    assert "next: " not in ask("train", members=(CRASHED,))[1]


@pytest.mark.parametrize(("members", "code"), [((DONE,), 0), ((DONE, CRASHED), 3)])
def test_the_exit_code_says_whether_all_are_finished(ask, members, code):
    assert ask("train", members=members)[0] == code


def test_json_has_a_row_for_each_member(ask):
    code, out, _ = ask("train", "--json", members=(DONE, CRASHED))
    answer = json.loads(out)
    assert (code, answer["exit_code"], answer["name"], answer["path"]) == (3, 3, "train-1", "sweep.json")
    assert [(row["seed"], row["state"], row["action"]) for row in answer["members"]] == [
        (3, "complete", "reuse"),
        (4, "crashed", "reuse"),
    ]


@pytest.mark.parametrize("words", [(), ("train", "--jobs", "0"), ("train", "--seed", "3")])
def test_wrong_usage_is_2(ask, words):
    assert ask(*words)[0] == 2


def test_a_page_is_written_where_no_member_is_finished(ask, tmp_path):
    code, _, _ = ask("train", "--html", str(tmp_path / "sweep.html"), members=(CRASHED,))
    assert code == 3
    assert "train seed 4: exit code 1" in (tmp_path / "sweep.html").read_text()


def test_a_page_of_what_was_not_run_is_refused(ask, tmp_path):
    code, _, asked = ask("train", "--dry-run", "--html", str(tmp_path / "sweep.html"))
    assert (code, asked) == (2, {})
    assert not (tmp_path / "sweep.html").exists()
