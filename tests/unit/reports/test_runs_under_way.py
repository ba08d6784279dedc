"""The lines of `reprokit runs watch`."""

from __future__ import annotations

import io
import os

import pytest

from reprokit.reports.pages.runs_under_way import run_lines, title
from reprokit.reports.sparkline import sparkline
from reprokit.reports.watch_display import WatchDisplay
from reprokit.runs.underway import RunUnderWay
from support.terminal import Terminal

RUN = RunUnderWay(
    recipe="cartpole_baseline",
    run_id="20261120T101500Z-5f2a-seed1-1",
    seed=1,
    where="slurm node7",
    elapsed_s=75.0,
    silent_s=2.0,
    step=2048,
    total=100_000,
    steps_per_s=1500.0,
    metric="charts/episodic_return",
    value=24.5,
    curve=(1.0, 12.0, 24.5),
    path="runs/cartpole_baseline/20261120T101500Z-5f2a-seed1-1",
)


def test_a_run_is_one_line_with_its_last_value_and_a_curve():
    head, line = run_lines([RUN], can_unicode=True)
    assert head.split() == ["recipe", "seed", "where", "time", "step", "metric", "last", "curve", "run"]
    assert "slurm node7  1 min 15 s  2,048 of 100,000" in line
    assert "24.50  ▁▄█" in line


def test_a_narrow_terminal_gets_what_moves(on_terminal):
    lines, _ = on_terminal(run_lines, [RUN], can_unicode=False)
    assert lines[0].split() == ["step", "metric", "last"]


def test_a_run_that_writes_nothing_says_so():
    silent = RunUnderWay(**{name: getattr(RUN, name) for name in RUN.__slots__} | {"silent_s": 7200.0})
    assert "1 min 15 s, silent 2 h 00 min" in run_lines([silent], can_unicode=True)[1]


def test_how_many_there_are_is_said_first():
    assert [title([RUN] * count) for count in (0, 1, 2)] == [
        "No run is under way.",
        "1 run under way",
        "2 runs under way",
    ]


@pytest.mark.parametrize(
    ("values", "curve"),
    [
        ((), ""),
        ((5.0,), "▁"),
        ((1.0, 1.0, 1.0), "▁▁▁"),
        ((-1e308, 1e308), "▁█"),
        (tuple(float(at) for at in range(100)), "▁▃▅▆█"),
    ],
)
def test_a_curve_goes_from_its_least_to_its_greatest_value(values, curve):
    assert sparkline(values, width=5) == curve


def test_the_table_is_drawn_in_its_place_and_stays_at_the_end(monkeypatch):
    monkeypatch.setattr("shutil.get_terminal_size", lambda *_, **__: os.terminal_size((60, 5)))
    stream = Terminal()
    with WatchDisplay(stream=stream, environ={"TERM": "xterm", "NO_COLOR": "1"}) as display:
        display.show("one", ["a"])
        display.show("two", ["a", "b", "c", "d", "e"])
    assert stream.getvalue() == "one\na\x1b[1A\r\x1b[Jtwo\na\nb\nc\nand 2 more\n"
    assert isinstance(stream, io.StringIO)
