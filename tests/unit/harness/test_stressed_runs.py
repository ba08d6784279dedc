"""Runs that were disturbed on purpose: what they show, what they never show, and who refuses them."""

import json

import pytest

from reprokit.core.checklist import Status, Verdict
from reprokit.errors import GoldenError
from reprokit.golden import Promotion
from reprokit.harness import Request, judge_again, shown_by
from reprokit.harness.curation import promote
from reprokit.records import run_json
from support.fake_backend import training

NOW = "2026-11-27T10:15:00+00:00"


def stressed(make, plant, *losses):
    pair = make.of_recipe(*(training(loss=loss) for loss in losses))
    for folder in pair:
        plant(folder, "stressed")
    return pair


def one(step):
    return 1 / step


def other(step):
    return 2 / step


def test_equal_runs_under_stress_are_unjudged_with_the_bound_and_the_runs_that_a_bound_needs(
    make, plant, here
):
    report = judge_again(stressed(make, plant, one, one), Request(), project=here)
    assert (report.verdict, report.exit_code) == (Verdict.UNJUDGED, 4)
    assert "None of 2 runs under stress differs: at most 77.7 % of runs do (95 %)" in report.sentence
    assert "for at most 1 in 100 it takes 299 runs" in report.sentence
    assert "--stress" not in report.next_command
    row = next(row for row in report.checks if row.id == "repeatable")
    assert row.status is Status.ERROR
    assert report.stress["at_most"] == pytest.approx(0.7764, abs=1e-4)


def test_runs_under_stress_that_differ_are_nondeterministic_with_how_many_and_a_pair(make, plant, here):
    pair = stressed(make, plant, one, other)
    report = judge_again(pair, Request(), project=here)
    assert (report.verdict, report.exit_code) == (Verdict.NONDETERMINISTIC, 1)
    assert (
        "Under stress, runs with the same seed differ in 1 of 2 (95 % interval 1 to 99 %)" in report.sentence
    )
    assert report.stress["pair"] == [str(folder) for folder in pair]
    assert "reprokit diagnose" in report.next_command
    assert "--stress" in report.next_command


def test_runs_under_stress_and_as_they_are_prove_nothing_together(make, plant, here):
    pair = make.of_recipe(training(loss=one), training(loss=other))
    plant(pair[1], "stressed")
    assert judge_again(pair, Request(), project=here).verdict is Verdict.UNJUDGED


def test_runs_under_stress_are_never_promoted(make, plant, here):
    pair = stressed(make, plant, one, one)
    made = Promotion(reason="first", created_at=NOW, allow_dirty=True, allow_failed=True)
    with pytest.raises(GoldenError, match="disturbed on purpose"):
        promote(pair, project=here, promotion=made)


def test_a_run_under_stress_is_no_whole_one_so_that_no_later_command_takes_it_for_one(make, plant):
    folder, _ = make.of_recipe(training(), training())
    assert run_json.read(folder).is_whole
    plant(folder, "stressed")
    assert not run_json.read(folder).is_whole
    assert json.loads((folder / "run.json").read_text())["stressed"] == {"number": 1}


def test_what_so_many_runs_show_is_said_before_they_are_made():
    assert shown_by(40) == (
        "40 runs show, where none differs, that at most 7.3 % of runs do (95 %); "
        "at most 1 in 100: 299 runs (--at-most 1/100)"
    )
