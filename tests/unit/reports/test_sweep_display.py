"""The progress of a sweep: a table on a terminal, lines elsewhere; and its answer as lines."""

from __future__ import annotations

import io
import re
from dataclasses import replace

import pytest

from reprokit.reports.sweep_display import SweepDisplay
from reprokit.reports.sweep_table import sweep_lines
from reprokit.runs.sweeps import MemberState, SweepMember, named
from reprokit.session import HowFar


class _Stream(io.StringIO):
    def __init__(self, *, is_terminal: bool) -> None:
        super().__init__()
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal


class _Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def made(*, is_terminal: bool, columns: int = 100) -> tuple[SweepDisplay, _Stream, _Clock]:
    stream, clock = _Stream(is_terminal=is_terminal), _Clock()
    environ = {"TERM": "xterm", "COLUMNS": str(columns), "NO_COLOR": "1"}
    return SweepDisplay(stream=stream, environ=environ, clock=clock), stream, clock


def last_screen(text: str) -> list[str]:
    """What stands on the terminal after the last time that it was drawn."""
    return re.split(r"\r\x1b\[J", text)[-1].splitlines()


def test_off_a_terminal_a_line_comes_when_a_member_changes():
    display, stream, clock = made(is_terminal=False)
    with display:
        display.member("train seed 3", HowFar(phase="waiting"))
        for step in (2048, 4096):
            display.member(
                "train seed 3",
                HowFar(
                    phase="training",
                    step=step,
                    total=100_000,
                    steps_per_s=15_000.0,
                    last_return=20.5,
                    place="docker core 1",
                ),
            )
            clock.now += 60
        display.member("train seed 3", HowFar(phase="complete", last_return=500.0))
    assert stream.getvalue().splitlines() == [
        "train seed 3: waiting",
        "train seed 3: training, step 2,048 of 100,000, 15,000 steps/s, last result 20.50, docker core 1",
        "train seed 3: complete, last result 500.00",
    ]


def test_a_column_of_results_is_there_only_where_a_member_has_one_and_bears_its_name():
    for metric, head in ((None, None), ("eval/accuracy", "last eval/accuracy")):
        member = SweepMember(
            recipe="t", seed=3, state=MemberState.COMPLETE, last_return=metric and (metric, 0.5)
        )
        other = replace(member, seed=4, last_return=None)
        text = "\n".join(sweep_lines([member, other], ["run", "run"], name="t-1", path="s", dry_run=False))
        assert (head or "last ") in text if head else "last " not in text


def test_on_a_terminal_no_column_is_empty_in_every_row():
    display, stream, _ = made(is_terminal=True)
    display.member("train seed 3", HowFar(phase="training", step=1, place="local"))
    assert last_screen(stream.getvalue())[-2:] == [
        "member        phase     steps  place",
        "train seed 3  training  1      local",
    ]


def test_off_a_terminal_a_long_training_is_heard_of_every_five_minutes():
    display, stream, clock = made(is_terminal=False)
    for _ in range(11):
        display.member("train seed 3", HowFar(phase="training", step=1))
        clock.now += 60
    assert len(stream.getvalue().splitlines()) == 3


def test_on_a_terminal_there_is_one_table():
    display, stream, clock = made(is_terminal=True)
    display.phase("train")
    display.member("train seed 3", HowFar(phase="complete", last_return=500.0))
    clock.now += 1
    display.member(
        "train seed 42", HowFar(phase="training", step=2048, total=100_000, steps_per_s=15e3, place="local")
    )
    assert last_screen(stream.getvalue()) == [
        "train",
        "member         phase     steps             steps/s  last result  place",
        "train seed 3   complete  -                 -        500.00       -",
        "train seed 42  training  2,048 of 100,000  15,000   -            local",
    ]


def test_of_many_members_those_that_move_are_shown():
    display, stream, _ = made(is_terminal=True)
    display.phase("train")
    for seed in range(40):
        display.member(f"train seed {seed}", HowFar(phase="complete" if seed < 20 else "waiting"))
    display.member("train seed 39", HowFar(phase="training", step=1))
    screen = last_screen(stream.getvalue())
    assert any(line.startswith("train seed 39  training") for line in screen)
    assert screen[-1] == "and 24 more: 4 waiting, 20 complete"


LONG = 'command=[python, train.py, "--seed={seed}", "--logdir={run_dir}", "--lr=%s", "--hidden=32"]'


def swept(*rates: str) -> list[SweepMember]:
    rows = [
        SweepMember(recipe="train", settings=(LONG % rate,), seed=seed) for rate in rates for seed in (42, 43)
    ]
    return named(
        [replace(one, state=MemberState.COMPLETE, run="train/20261126T110840Z-50ec-seed42-1") for one in rows]
    )


@pytest.mark.parametrize("columns", [40, 60, 80, 120])
def test_at_every_width_each_member_shows_what_differs(columns):
    display, stream, clock = made(is_terminal=True, columns=columns)
    display.phase("train")
    for member in swept("0.01", "0.001"):
        clock.now += 1
        display.member(
            member.label,
            HowFar(phase="training", step=2048, total=100_000, steps_per_s=15e3, place="local core 1"),
        )
    screen = last_screen(stream.getvalue())
    assert [line.split("  ")[0].rstrip() for line in screen[2:]] == [
        "lr=0.01 · s42",
        "lr=0.01 · s43",
        "lr=0.001 · s42",
        "lr=0.001 · s43",
    ]
    assert all(len(line) < columns for line in screen)
    assert all("training" in line for line in screen[2:])


def test_a_name_without_room_keeps_its_ends():
    display, stream, _ = made(is_terminal=True, columns=60)
    display.phase("train")
    for seed in (1, 2):
        display.member(f"{'a' * 100} · s{seed}", HowFar(phase="training"))
    assert [line.split("  ")[0][-4:] for line in last_screen(stream.getvalue())[2:]] == ["· s1", "· s2"]


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_the_table_of_members_fits_the_terminal_and_names_what_differs(monkeypatch, columns):
    monkeypatch.setattr("sys.stdout", _Stream(is_terminal=True))
    monkeypatch.setenv("COLUMNS", str(columns))
    members = swept("0.01", "0.001")
    warning = "lr changes nothing: with every seed (42 and 43), the results of lr=0.01 and lr=0.001 are equal"
    said = sweep_lines(
        members, ("run",) * 4, name="train-1", path="sweep.json", dry_run=False, warnings=[warning]
    )
    lines = "\n".join(said).splitlines()
    assert all(len(line) <= columns for line in lines)
    assert [line.split()[1:3] for line in lines[-4:]] == [
        ["lr=0.01", "42"],
        ["lr=0.01", "43"],
        ["lr=0.001", "42"],
        ["lr=0.001", "43"],
    ]
    assert f"Warning: {warning}" in " ".join(" ".join(lines).split())


def test_what_all_members_have_is_said_once():
    members = [SweepMember(recipe="train", seed=seed, settings=("a=1", f"b={seed}")) for seed in (3, 4)]
    lines = list(sweep_lines(members, ("run",) * 2, name="a", path="b", dry_run=True))
    assert lines[2] == "Every member has a=1"
    assert [line.split()[1] for line in lines[3:]] == ["settings", "b=3", "b=4"]


def test_the_answer_has_a_row_for_each_member_and_why_one_is_missing():
    members = [
        SweepMember(
            recipe="train",
            seed=3,
            state=MemberState.COMPLETE,
            run="train/a",
            last_return=("loss", 0.01234567),
        ),
        SweepMember(recipe="train", seed=4, state=MemberState.CRASHED, run="train/b", message="exit code 1"),
    ]
    lines = list(sweep_lines(members, ("reuse", "retry"), name="train-1", path="sweep.json", dry_run=False))
    assert [re.split(r"  +", line) for line in lines[-3:]] == [
        ["recipe", "seed", "state", "this call", "last loss", "run"],
        ["train", "3", "complete", "finished earlier", "0.01235", "train/a"],
        ["train", "4", "crashed", "tried again now", "-", "train/b"],
    ]
    assert lines[:5] == [
        "1 of 2 members are finished. Sweep train-1:",
        "sweep.json",
        "The same command tries the others again, and runs nothing twice that is finished.",
        "train seed 4: exit code 1",
        "",
    ]
    planned = list(sweep_lines(members, ("reuse", "retry"), name="train-1", path="x", dry_run=True))
    assert "to be tried again" in planned[-1]
    assert planned[0] == "1 of 2 members are finished; nothing was run."


def test_settings_are_told_and_no_text_acts_on_a_terminal():
    member = SweepMember(
        recipe="train", seed=3, settings=("name=\x1b[2J",), state=MemberState.CRASHED, message="\x1b[2J"
    )
    lines = list(sweep_lines([member], ("run",), name="a", path="b", dry_run=False))
    assert r"Every member has name=\x1b[2J" in lines
    assert "\x1b" not in "".join(lines)
