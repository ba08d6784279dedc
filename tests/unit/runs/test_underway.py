"""What is running, by what stands in run folders."""

from __future__ import annotations

import json
import os
import time

import pytest

from reprokit.runs.log_tail import last_object, last_objects
from reprokit.runs.underway import under_way
from reprokit.workspace import this_process

NOW = time.time()


@pytest.fixture
def begun(tmp_path):
    """Make the folder of a run that has begun; ``record`` is added to its run.json."""

    def make(run_id="20261120T101500Z-5f2a-seed1-1", *, log="metrics.jsonl", lines=(), **record):
        folder = tmp_path / "train" / run_id
        (folder / "output").mkdir(parents=True)
        said = {"schema": 1, "seed": 1, "state": "running", "owner": this_process(), **record}
        (folder / "run.json").write_text(json.dumps(said))
        (folder / "output" / log).write_text("".join(json.dumps(line) + "\n" for line in lines))
        return folder

    return make


def found(root, **asked):
    return under_way(root, now_s=NOW + 5, **asked)


def test_a_run_shows_its_step_its_metric_and_how_that_went(begun, tmp_path):
    folder = begun(lines=[{"step": at, "lr": 0.1, "train/loss": 1 / (at + 1)} for at in range(4)])
    (folder / "output" / "timing.jsonl").write_text('{"step": 3, "total_steps": 10, "steps_per_s": 2.5}\n')
    (one,) = found(tmp_path)
    assert (one.recipe, one.seed, one.where) == ("train", 1, "local")
    assert (one.step, one.total, one.steps_per_s) == (3, 10, 2.5)
    assert (one.metric, one.value, one.curve) == ("train/loss", 0.25, (1.0, 0.5, 1 / 3, 0.25))


def test_another_metric_can_be_asked_for(begun, tmp_path):
    begun(lines=[{"step": 0, "lr": 0.1, "loss": 1}])
    assert [(one.metric, one.value) for one in found(tmp_path, metric="lr")] == [("lr", 0.1)]
    assert [(one.metric, one.value) for one in found(tmp_path, metric="nothing")] == [("", None)]


def test_the_own_log_of_a_program_is_read_too(begun, tmp_path):
    begun(log="my.jsonl", lines=[{"step": 7, "reward": 2}])
    assert [(one.step, one.value) for one in found(tmp_path)] == [(7, 2.0)]


def test_what_has_ended_or_was_killed_is_not_under_way(begun, tmp_path):
    begun("20261120T101500Z-5f2a-seed1-1", state="ended")
    begun("20261120T101501Z-5f2a-seed1-1", owner={**this_process(), "started": 1.0})
    done = begun("20261120T101502Z-5f2a-seed1-1")
    (done / "COMPLETE").write_text("{}")
    assert found(tmp_path) == []


def test_a_run_of_another_machine_is_named_with_it_and_counts(begun, tmp_path):
    owner = {"pid": 1, "started": 1.0, "machine": "sha256:of-another"}
    begun(owner=owner, where="slurm", machine={"id": "x", "node": "node7"})
    assert [one.where for one in found(tmp_path)] == ["slurm node7"]


def test_a_log_that_is_silent_says_for_how_long(begun, tmp_path):
    folder = begun(lines=[{"step": 0, "loss": 1}])
    os.utime(folder / "output" / "metrics.jsonl", (NOW - 100, NOW - 100))
    assert [round(one.silent_s) for one in found(tmp_path)] == [105]


def test_odd_values_are_left_out_and_a_torn_line_is_waited_for(begun, tmp_path):
    folder = begun()
    text = '{"step": 0, "loss": NaN}\n{"step": 1, "loss": true}\n{"step": 2, "loss": 4}\n{"step": 3, "lo'
    (folder / "output" / "metrics.jsonl").write_text(text)
    assert [(one.step, one.curve) for one in found(tmp_path)] == [(2, (4.0,))]


def test_the_end_of_a_long_log_is_read_and_nothing_behind_a_link_or_pipe(tmp_path):
    log = tmp_path / "log.jsonl"
    log.write_text("".join(f'{{"step": {at}}}\n' for at in range(1000)))
    assert last_object(log) == {"step": 999}
    assert [one["step"] for one in last_objects(log, most_bytes=40)] == [998, 999]
    (tmp_path / "link").symlink_to(log)
    os.mkfifo(tmp_path / "pipe")
    assert last_object(tmp_path / "link") is None
    assert last_object(tmp_path / "pipe") is None
