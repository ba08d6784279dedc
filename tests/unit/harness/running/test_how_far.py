"""How far a run is, by its own log and by how far an earlier run of the recipe went."""

from __future__ import annotations

import json

import pytest

from reprokit.harness.running.how_far import EarlierRun, earlier_run, tell_of
from support.recorded_progress import RecordedProgress


@pytest.fixture
def runs_of(tmp_path):
    """Make a run folder of one recipe; its name sorts by its number."""

    def make(number, *, last_step=None, **recorded):
        folder = tmp_path / "train" / f"20261120T10150{number}Z-5f2a-seed1-1"
        (folder / "output").mkdir(parents=True)
        record = {"schema": 1, "outcome": "completed", "duration_s": 8.0, "modified": [], **recorded}
        (folder / "run.json").write_text(json.dumps(record))
        if last_step is not None:
            (folder / "metrics.jsonl").write_text(f'{{"step": {last_step}}}\n')
        return folder

    return make


def test_the_newest_whole_run_says_how_long_the_next_takes(runs_of):
    runs_of(1, last_step=99, duration_s=5.0)
    runs_of(2, last_step=199)
    runs_of(3, last_step=7, outcome="crashed")
    assert earlier_run(runs_of(4)) == EarlierRun(duration_s=8.0, last_step=199)


def test_a_run_with_other_settings_or_none_says_nothing(runs_of):
    assert earlier_run(runs_of(1)) == EarlierRun()
    assert earlier_run(runs_of(2, modified=["steps=5"])) == EarlierRun()


def test_steps_in_a_programs_own_log_are_its_progress(runs_of):
    folder, told = runs_of(1), RecordedProgress()
    (folder / "output" / "log.jsonl").write_text('{"step": 3}\n{"step": 41, "loss": 1}\n{"st')
    tell_of(told, "run 1", folder, earlier=EarlierRun(last_step=100))
    assert told.updates == [("run 1", 41, 100)]


def test_a_program_that_tells_no_steps_shows_a_sign_of_life(runs_of):
    folder, told = runs_of(1), RecordedProgress()
    (folder / "output" / "log.jsonl").write_text('{"loss": 1}\n{"step": true}\n')
    tell_of(told, "run 1", folder, earlier=EarlierRun(duration_s=4.0))
    assert (told.updates, told.signs) == ([], [("run 1", "0.0 kB written, 0.0 kB printed")])
