"""Following metrics while they grow: bounded in time, and never a reason to stop where a file misbehaves."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from reprokit.core.comparison import Tolerances
from reprokit.harness.running import watch_golden
from reprokit.harness.running.watch_golden import GoldenWatch, WatchedGolden

SAME, OTHER = '{"step": 0, "a": 1}\n', '{"step": 0, "a": 2}\n'


@pytest.fixture
def golden(tmp_path: Path) -> Path:
    (tmp_path / "golden.jsonl").write_text(SAME)
    return tmp_path / "golden.jsonl"


@pytest.fixture
def metrics(tmp_path: Path) -> Callable[..., Path]:
    def of(run: str, text: str) -> Path:
        file = tmp_path / run / "output" / "metrics.jsonl"
        file.parent.mkdir(parents=True)
        file.write_text(text)
        return file

    return of


@pytest.fixture
def watch(tmp_path: Path, golden: Path):
    """A watch over two runs; ``look`` takes only the name of one, and ``notes`` is what it told."""
    notes: list[str] = []

    def find(_environment):
        return WatchedGolden(metrics=golden, tolerances=Tolerances())

    with GoldenWatch(["one", "two"], find=find, note=notes.append) as opened:
        yield lambda run: opened.look(run, tmp_path / run, environment=dict), notes


def test_a_program_that_writes_faster_than_it_is_read_is_left_in_time(watch, metrics, monkeypatch):
    look, notes = watch
    file, appended, reads = metrics("one", OTHER), watch_golden._appended, []

    def faster(path: Path, offset: int) -> bytes:
        reads.append(offset)
        assert len(reads) < 1000, "the look does not end while the file grows"
        with file.open("a") as stream:
            stream.write(OTHER)
        return appended(path, offset)

    monkeypatch.setattr(watch_golden, "_appended", faster)
    assert look("one") is None
    first = len(reads)
    assert look("one") is None
    assert len(reads) > first  # it continues where it left off
    assert notes == []


def test_both_runs_must_have_passed_the_difference(watch, metrics):
    look, _ = watch
    metrics("one", OTHER)
    second = metrics("two", OTHER[:-1])  # a line that is not whole
    assert (look("one"), look("two")) == (None, None)
    second.write_text(OTHER)
    assert look("two").outcome == "stopped_at_golden"


@pytest.mark.parametrize("how", ["shorter", "link", "pipe", "gone", "no record"])
def test_metrics_that_misbehave_end_the_watch_and_no_run(watch, metrics, how, tmp_path):
    look, notes = watch
    one, two = metrics("one", SAME), metrics("two", OTHER)
    assert look("one") is None
    one.unlink()
    if how == "shorter":
        one.write_text("{")
    elif how == "link":
        one.symlink_to(two)
    elif how == "pipe":
        os.mkfifo(one)
    elif how == "no record":
        one.write_text(SAME)
        two.write_text("nonsense\n")
    assert (look("one"), look("two")) == (None, None)
    assert ["continue to their end" in note for note in notes] == [True]


def test_a_golden_that_is_gone_on_the_way_ends_the_watch_and_no_run(watch, metrics, golden):
    look, notes = watch
    metrics("one", OTHER)
    metrics("two", OTHER)
    assert look("one") is None
    golden.unlink()
    assert look("two") is None
    assert "continue to their end" in notes[0]


def test_a_golden_that_is_swapped_on_the_way_stops_nothing_that_equals_it(watch, metrics, golden):
    look, _ = watch
    metrics("one", OTHER)
    metrics("two", OTHER)
    assert look("one") is None
    golden.write_text(OTHER)
    assert (look("two"), look("one")) == (None, None)
