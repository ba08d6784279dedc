"""The list of runs: what it says, and that it is never behind the folders."""

from __future__ import annotations

import json

import pytest

from reprokit import workspace
from reprokit.core.records import Outcome
from reprokit.runs import listing


@pytest.fixture
def listed(workshop, later):
    def look():
        found = listing.summaries(workshop.runs, reports_dir=workshop.project.reports_dir, now_ns=later())
        return {run.run_id: run for run in found}

    return look


def test_a_line_says_what_how_where_when_and_to_what_end(workshop, listed):
    folder = workshop.run(modified=["training.gamma=0.9"])
    workshop.report(folder)
    run = listed()[folder.name]
    assert (run.recipe, run.seed, run.outcome, run.verdict) == ("tiny", 42, "complete", "REPRODUCED")
    assert (run.environment, run.started_at, run.duration_s) == ("cpu venv", "2026-11-20T10:15:00Z", 5.0)
    assert (run.modified, run.path) == (("training.gamma=0.9",), str(folder))


def test_nothing_there_is_an_empty_list(workshop, listed):
    assert listed() == {}
    assert not workshop.runs.exists()


def test_the_second_look_reads_nothing_and_says_the_same(workshop, listed, monkeypatch):
    workshop.report(workshop.run())
    first = listed()
    monkeypatch.setattr(listing, "read", None)
    monkeypatch.setattr(listing, "_report_facts", None)
    assert listed() == first


def test_the_verdict_is_that_of_the_newest_report_that_names_the_run(workshop, listed):
    folder = workshop.run()
    workshop.report(folder, verdict="REPRODUCED", time="2026-11-22T10:00:00+00:00")
    assert listed()[folder.name].verdict == "REPRODUCED"
    workshop.report(folder, verdict="REGRESSION", time="2026-11-21T10:00:00+00:00")
    assert listed()[folder.name].verdict == "REPRODUCED"
    workshop.report(folder, verdict="STALE_GOLDEN", time="2026-11-23T01:00:00+09:00")
    assert listed()[folder.name].verdict == "STALE_GOLDEN"


def test_a_run_that_others_were_held_against_has_no_verdict_from_that(workshop, listed):
    theirs = workshop.run()
    workshop.report(workshop.run("20261121T101500Z-bbbb-seed42-1"), golden=str(theirs))
    assert listed()[theirs.name].verdict == listing.NO_VERDICT


def test_a_report_is_found_again_where_the_project_has_moved(workshop, listed, tmp_path):
    folder = workshop.run()
    workshop.report(tmp_path / "where" / "it" / "was" / "tiny" / folder.name)
    assert listed()[folder.name].verdict == "REPRODUCED"


def test_a_crashed_run_a_damaged_one_and_an_interrupted_one_have_words_of_their_own(workshop, listed):
    crashed = workshop.run("20261120T101500Z-aaaa-seed42-1", outcome=Outcome.CRASHED)
    damaged = workshop.run("20261120T101500Z-aaaa-seed42-2")
    (damaged / "metrics.jsonl").unlink()
    killed = workshop.run("20261120T101500Z-aaaa-seed42-3", outcome=Outcome.CRASHED)
    workshop.change(killed, state="running")
    going = workshop.run("20261120T101500Z-aaaa-seed42-4", outcome=Outcome.CRASHED)
    workshop.change(going, state="running", owner=workspace.this_process())
    outcomes = {name: run.outcome for name, run in listed().items()}
    assert list(outcomes.values()) == ["crashed", "damaged", "interrupted", "running"]
    assert "metrics.jsonl is missing" in listed()[damaged.name].because
    assert crashed.name in outcomes


def test_a_running_run_is_never_remembered_as_running(workshop, listed):
    done, folder = workshop.run(), workshop.run("20261121T101500Z-bbbb-seed42-1", outcome=Outcome.CRASHED)
    workshop.change(folder, state="running", owner=workspace.this_process())
    assert listed()[folder.name].outcome == "running"
    assert done.name in (workshop.runs / listing.CACHE).read_text()
    assert folder.name not in (workshop.runs / listing.CACHE).read_text()


@pytest.mark.parametrize("name", ["run.json", "COMPLETE", "progress.csv", "metrics.jsonl"])
def test_what_changes_at_the_top_of_a_remembered_run_is_seen(workshop, listed, name):
    folder = workshop.run()
    assert listed()[folder.name].outcome == "complete"
    if name == "metrics.jsonl":
        (folder / name).unlink()
    else:
        (folder / name).write_text("{}")
    assert listed()[folder.name].outcome == "damaged"


@pytest.mark.parametrize(
    "record",
    [
        "",
        "[]",
        "null",
        "{",
        '{"image": 3, "modified": 7, "seed": "x", "duration_s": "y", "state": []}',
        '{"duration_s": 1e999, "seed": true, "started_at": 12, "modified": [{}, null], "image": {"kind": 1}}',
        json.dumps({"duration_s": 10**400, "started_at": "9999-12-31T23:59:59-23:59", "outcome": {}}),
        '{"started_at": "\\ud800", "modified": ["\\ud800"], "plain_command": "\\u001b[2J"}',
        "[" * 5000,
    ],
)
def test_no_record_however_odd_stops_the_list(workshop, listed, record):
    good = workshop.run("20261120T101500Z-aaaa-seed42-1")
    odd = workshop.run("20261120T101500Z-aaaa-seed42-2")
    (odd / "run.json").write_text(record)
    assert listed() == listed()
    assert listed()[good.name].outcome == "complete"
    assert listed()[odd.name].outcome == "damaged"
    assert listed()[odd.name].started_at == "2026-11-20T10:15:00Z"


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"runs": 3}', '{"runs": [1]}', "[" * 5000, '{"runs": "abc"}']
)
def test_a_report_that_cannot_be_read_is_named_and_does_not_stop_the_list(workshop, listed, later, text):
    folder = workshop.run()
    workshop.report(folder)
    broken = workshop.report(folder, time="2027-01-01T00:00:00+00:00")
    broken.write_text(text)
    assert listed()[folder.name].verdict == "REPRODUCED"
    notes = listing.report_notes(workshop.project.reports_dir, now_ns=later())
    assert [note.path for note in notes if note.problem] == [str(broken)]


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-11-20T10:15:00+00:00", "2026-11-20T10:15:00Z"),
        ("2026-11-20T10:15:00.5+02:00", "2026-11-20T08:15:00Z"),
        ("2026-11-20T10:15:00", "2026-11-20T10:15:00Z"),
        ("yesterday", ""),
        (None, ""),
        (7, ""),
        ("0001-01-01T00:00:00+14:00", ""),
    ],
)
def test_moments_are_brought_into_one_form_that_sorts(text, moment):
    assert listing.moment_of(text) == moment
