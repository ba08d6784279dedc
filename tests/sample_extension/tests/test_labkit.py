"""reprokit's own suites, for every kind that this extension brings."""

import json
import time

from labkit_ext import EXTENSION
from labkit_ext.cause import CAUSE
from labkit_ext.log_format import FORMAT
from labkit_ext.place import open_place
from labkit_ext.row import ROW
from labkit_ext.section import SECTION
from labkit_ext.variation import VARIATION
from labkit_ext.verb import command

from reprokit.api import testing
from reprokit.api.extensions import Task, TaskState

LOG = "# lab 1\n@step 0 loss=0.5 phase=warmup\n@step 1 loss=0.25 phase=main note=größer\n@step 2 loss=0.125\n"


def run_folder(folder, *losses):
    folder.mkdir()
    (folder / "run.json").write_text(json.dumps({"schema": 1}))
    records = (json.dumps({"step": step, "loss": loss}) for step, loss in enumerate(losses))
    (folder / "metrics.jsonl").write_text("".join(f"{record}\n" for record in records))
    return folder


def test_the_extension():
    testing.check_extension(EXTENSION)


def test_the_log_format(tmp_path):
    testing.check_log_format(FORMAT, name="train.lab", content=LOG.encode(), folder=tmp_path)


def test_numbers_are_those_of_the_log(tmp_path):
    (tmp_path / "x.lab").write_text(
        f"@step 0 n=1_0 m=7 s=a\u2028b\n@step 1 n={'9' * 5000}\n@step 2 n=-1.5e3\n"
    )
    first, long, last = FORMAT.read(tmp_path / "x.lab")
    assert first.record == {"step": 0, "n": "1_0", "m": 7, "s": "a\u2028b"}
    assert (long.record, long.notes[0][0]) == (None, "torn_line")
    assert last.record == {"step": 2, "n": -1500.0}


def test_a_job_that_is_deleted_has_not_ended_before_it_ends(tmp_path):
    place = open_place({}, folder=tmp_path / "place")
    log = tmp_path / "log"
    code = 'trap "sleep 1; exit 3" TERM; echo up; while :; do sleep 0.1; done'
    task = Task(name="slow", command=("/bin/sh", "-c", code), environment={}, working_dir=tmp_path, log=log)
    handles = place.submit((task,))
    while "up" not in (log.read_text() if log.exists() else ""):
        time.sleep(0.05)
    place.cancel(handles)
    assert place.standing(handles)[0].going is TaskState.RUNNING
    while (now := place.standing(handles)[0]).going is TaskState.RUNNING:
        time.sleep(0.05)
    assert now.going is TaskState.STOPPED


def test_the_row(tmp_path):
    falling = run_folder(tmp_path / "falling", 0.5, 0.25)
    rising = run_folder(tmp_path / "rising", 0.25, 0.5)
    testing.check_row(ROW, good=[falling, falling], bad=[falling, rising])


def test_the_verb():
    testing.check_verb(command)


def test_the_variation():
    testing.check_variation("lab_site", VARIATION)


def test_the_section(tmp_path):
    testing.check_section(SECTION, runs=[run_folder(tmp_path / "run", 0.5, 0.25)])


def test_the_cause():
    clock = {
        "kind": "clock",
        "category": "clock",
        "file": "train.py",
        "line": 3,
        "what": "time",
        "differs": True,
    }
    testing.check_cause(
        "old_template", CAUSE, is_it={"taps": [clock]}, is_not={"taps": [{**clock, "differs": False}]}
    )


def test_the_place(tmp_path):
    testing.check_place(open_place, settings={"queue": "work"}, folder=tmp_path / "place")
