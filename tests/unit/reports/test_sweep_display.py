"""The progress of a sweep: a table on a terminal, lines elsewhere; and its answer as lines."""

from __future__ import annotations

import io
import re

from reprokit.reports.sweep_display import SweepDisplay
from reprokit.reports.sweep_table import sweep_lines
from reprokit.runs.sweeps import Member, State


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


def made(*, is_terminal: bool) -> tuple[SweepDisplay, _Stream, _Clock]:
    stream, clock = _Stream(is_terminal=is_terminal), _Clock()
    environ = {"TERM": "xterm", "COLUMNS": "100", "NO_COLOR": "1"}
    return SweepDisplay(stream=stream, environ=environ, clock=clock), stream, clock


def last_screen(text: str) -> list[str]:
    """What stands on the terminal after the last time that it was drawn."""
    return re.split(r"\r\x1b\[J", text)[-1].splitlines()


def test_off_a_terminal_a_line_comes_when_a_member_changes():
    display, stream, clock = made(is_terminal=False)
    with display:
        display.member("train seed 3", phase="waiting")
        for step in (2048, 4096):
            display.member(
                "train seed 3",
                phase="training",
                step=step,
                total=100_000,
                steps_per_s=15_000.0,
                last_return=20.5,
                place="docker core 1",
            )
            clock.now += 60
        display.member("train seed 3", phase="complete", last_return=500.0)
    assert stream.getvalue().splitlines() == [
        "train seed 3: waiting",
        "train seed 3: training, step 2,048 of 100,000, 15,000 steps/s, last return 20.50, docker core 1",
        "train seed 3: complete, last return 500.00",
    ]


def test_off_a_terminal_a_long_training_is_heard_of_every_five_minutes():
    display, stream, clock = made(is_terminal=False)
    for _ in range(11):
        display.member("train seed 3", phase="training", step=1)
        clock.now += 60
    assert len(stream.getvalue().splitlines()) == 3


def test_on_a_terminal_there_is_one_table():
    display, stream, clock = made(is_terminal=True)
    display.phase("train")
    display.member("train seed 3", phase="complete", last_return=500.0)
    clock.now += 1
    display.member(
        "train seed 42", phase="training", step=2048, total=100_000, steps_per_s=15e3, place="local"
    )
    assert last_screen(stream.getvalue()) == [
        "train",
        "member         phase     steps             steps/s  last return  place",
        "train seed 3   complete  -                 -        500.00       -",
        "train seed 42  training  2,048 of 100,000  15,000   -            local",
    ]


def test_of_many_members_those_that_move_are_shown():
    display, stream, _ = made(is_terminal=True)
    display.phase("train")
    for seed in range(40):
        display.member(f"train seed {seed}", phase="complete" if seed < 20 else "waiting")
    display.member("train seed 39", phase="training", step=1)
    screen = last_screen(stream.getvalue())
    assert any(line.startswith("train seed 39  training") for line in screen)
    assert screen[-1] == "and 24 more: 4 waiting, 20 complete"


def test_the_answer_has_a_row_for_each_member_and_why_one_is_missing():
    members = [
        Member(recipe="train", seed=3, state=State.COMPLETE, run="train/a", last_return=("loss", 0.01234567)),
        Member(recipe="train", seed=4, state=State.CRASHED, run="train/b", message="exit code 1"),
    ]
    lines = list(sweep_lines(members, ("reuse", "retry"), name="train-1", path="sweep.json", dry_run=False))
    assert [re.split(r"  +", line) for line in lines[:3]] == [
        ["recipe", "seed", "state", "this call", "last return", "run"],
        ["train", "3", "complete", "finished earlier", "0.01235", "train/a"],
        ["train", "4", "crashed", "tried again now", "-", "train/b"],
    ]
    assert lines[3:] == [
        "train seed 4: exit code 1",
        "1 of 2 members are finished. Sweep train-1: sweep.json",
        "The same command tries the others again, and runs nothing twice that is finished.",
    ]
    planned = list(sweep_lines(members, ("reuse", "retry"), name="train-1", path="x", dry_run=True))
    assert "to be tried again" in planned[2]
    assert planned[-1] == "1 of 2 members are finished; nothing was run."


def test_a_members_settings_have_a_column_and_no_text_acts_on_a_terminal():
    member = Member(
        recipe="train", seed=3, settings=("name=\x1b[2J",), state=State.CRASHED, message="\x1b[2J"
    )
    lines = list(sweep_lines([member], ("run",), name="a", path="b", dry_run=False))
    assert "settings" in lines[0]
    assert "\x1b" not in "".join(lines)
