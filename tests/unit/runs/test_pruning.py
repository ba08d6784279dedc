"""What may go, and above all what never does."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from reprokit import workspace
from reprokit.core.records import Outcome
from reprokit.errors import UsageError, WorkspaceError
from reprokit.harness import curation
from reprokit.harness.curation.prune import PruneChoice

NOW = datetime(2026, 12, 1, tzinfo=UTC)
ALL = PruneChoice(keep=0)


def run_id(day: int, number: int = 1) -> str:
    return f"202611{day:02d}T101500Z-{day:04x}-seed42-{number}"


def going(workshop, choice=ALL):
    return [run.path.name for run in curation.plan_prune(workshop.project, choice, now=NOW).going]


def reasons(workshop, choice=ALL):
    kept = curation.plan_prune(workshop.project, choice, now=NOW).kept
    return {one.path.name: one.because for one in kept}


def test_a_plan_touches_nothing_and_a_prune_does_what_the_plan_says(workshop):
    folder = workshop.run()
    plan = curation.plan_prune(workshop.project, ALL, now=NOW)
    assert folder.is_dir()
    assert plan.num_bytes > 0
    assert curation.prune(workshop.project, ALL, now=NOW) == plan
    assert not folder.exists()
    assert not (workshop.runs / ".pruned").exists()


def test_without_any_choice_nothing_is_chosen(workshop):
    workshop.run()
    for call in (curation.plan_prune, curation.prune):
        with pytest.raises(UsageError, match="which runs"):
            call(workshop.project, PruneChoice(recipe="tiny"), now=NOW)


def test_the_newest_of_each_recipe_are_kept_by_number(workshop):
    for day in (1, 2, 3):
        workshop.run(run_id(day))
    workshop.run(run_id(1), recipe="other")
    assert going(workshop, PruneChoice(keep=2)) == [run_id(1)]
    assert going(workshop, PruneChoice(keep=9)) == []
    assert len(going(workshop, PruneChoice(keep=0))) == 4


def test_only_old_ones_go_by_age_and_one_without_a_time_is_never_old(workshop):
    workshop.run(run_id(1))
    workshop.run(run_id(29))
    timeless = workshop.run(run_id(2))
    workshop.change(timeless, started_at=None)
    timeless.rename(timeless.with_name("timeless"))
    assert going(workshop, PruneChoice(older_than_days=10)) == [run_id(1)]


def test_incomplete_ones_go_alone(workshop):
    workshop.run(run_id(1))
    workshop.run(run_id(2), outcome=Outcome.CRASHED)
    assert going(workshop, PruneChoice(incomplete=True)) == [run_id(2)]


def test_every_condition_must_hold(workshop):
    for day in (1, 2, 29):
        workshop.run(run_id(day), outcome=Outcome.CRASHED)
    workshop.run(run_id(1), recipe="other", outcome=Outcome.CRASHED)
    choice = PruneChoice(recipe="tiny", keep=1, older_than_days=10, incomplete=True)
    assert going(workshop, choice) == [run_id(1), run_id(2)]


def test_what_a_report_stands_on_stays_until_the_report_goes(workshop):
    judged, against, free = (workshop.run(run_id(day)) for day in (1, 2, 3))
    report = workshop.report(judged, golden=str(against))
    assert going(workshop) == [free.name]
    assert reasons(workshop) == {one.name: f"{report} depends on it" for one in (judged, against)}
    report.unlink()
    assert len(going(workshop)) == 3


def test_the_runs_that_were_killed_at_places_stay_with_the_report(workshop):
    judged, stopped, resumed, counted, free = (workshop.run(run_id(day)) for day in range(1, 6))
    report = workshop.report(judged)
    place = {"stopped": str(stopped), "resumed": str(resumed), "counted": str(counted)}
    row = {"id": "resume_equal", "evidence": {"places": [place]}}
    report.write_text(json.dumps({**json.loads(report.read_text()), "checks": [row]}))
    assert going(workshop) == [free.name]


def test_of_a_report_that_cannot_be_read_every_run_of_its_recipe_may_be_the_ground(workshop):
    folder, other = workshop.run(), workshop.run(recipe="other")
    workshop.report(folder).write_text("{torn")
    assert going(workshop) == [other.name]
    assert "may depend on it" in reasons(workshop)[folder.name]


def test_the_runs_that_a_golden_was_made_of_stay_and_later_ones_that_agree_may_go(workshop):
    blessed, agrees = workshop.run(run_id(1)), workshop.run(run_id(20))
    differs = workshop.run(run_id(2), metrics='{"step": 1, "loss": 0.75}\n')
    golden = workshop.golden(made="2026-11-10T00:00:00+00:00")
    assert going(workshop) == [differs.name, agrees.name]
    assert reasons(workshop) == {blessed.name: f"{golden} depends on it"}


def test_of_a_broken_golden_every_finished_run_may_be_the_ground(workshop):
    done = workshop.run(run_id(1), metrics='{"step": 1, "loss": 0.75}\n')
    crashed = workshop.run(run_id(2), outcome=Outcome.CRASHED)
    (workshop.golden(made="2026-11-10T00:00:00+00:00") / "metrics.jsonl").write_text("edited")
    assert going(workshop) == [crashed.name]
    assert "may depend on it" in reasons(workshop)[done.name]


def test_a_run_whose_tool_is_still_at_work_stays_even_when_it_has_ended(workshop):
    folder = workshop.run(owner=workspace.this_process())
    assert going(workshop) == []
    assert reasons(workshop)[folder.name] == "the tool that made it is still running"


def test_a_link_is_left_alone_and_nothing_behind_it_is_touched(workshop, tmp_path):
    folder = workshop.run()
    elsewhere = tmp_path / "elsewhere"
    folder.rename(elsewhere)
    folder.symlink_to(elsewhere)
    assert curation.prune(workshop.project, ALL, now=NOW).going == ()
    assert (elsewhere / "run.json").is_file()
    assert "link" in reasons(workshop)[folder.name]


def test_links_inside_a_run_go_and_what_they_lead_to_stays(workshop, tmp_path):
    treasure = tmp_path / "treasure"
    treasure.mkdir()
    (treasure / "gold").write_text("gold")
    (workshop.run() / "link").symlink_to(treasure)
    assert len(curation.prune(workshop.project, ALL, now=NOW).going) == 1
    assert (treasure / "gold").read_text() == "gold"


def test_nothing_goes_while_a_run_is_being_made(workshop):
    folder = workshop.run()
    with workspace.exclusive(workshop.runs), pytest.raises(WorkspaceError, match="in use"):
        curation.prune(workshop.project, ALL, now=NOW)
    assert folder.is_dir()


def test_what_an_interrupted_prune_left_is_no_run_and_goes_with_the_next(workshop):
    folder = workshop.run()
    left = workshop.runs / ".pruned" / "tiny" / "20261101T101500Z-dead-seed42-1"
    left.parent.mkdir(parents=True)
    folder.rename(left)
    assert going(workshop) == []
    curation.prune(workshop.project, ALL, now=NOW)
    assert not left.exists()
