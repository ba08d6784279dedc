"""Runs that failed a required check become no golden, unless that is asked for and recorded."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from reprokit import checks
from reprokit.core.checklist import Status
from reprokit.errors import GoldenError
from reprokit.golden import Promotion
from reprokit.harness import Request, judge_again
from reprokit.harness.curation import promote
from reprokit.reports import render_all

SAID = {"reason": "first", "created_at": "2026-11-20T10:15:00+00:00", "allow_dirty": True}
#: Rows that speak of the golden that is to be replaced, or of what no one asked for.
OF_THE_GOLDEN = {"equals_golden", "environment_compatible"}


@pytest.fixture
def pair(make, programs):
    """Two runs that agree, whose fake trainings leave several required rows unproven."""
    return make.of_recipe(programs["training"](), programs["training"]())


def test_every_required_row_that_the_report_failed_is_refused_by_name(pair, here):
    report = judge_again(pair, Request(), project=here)
    failed = [row.id for row in report.checks if row.required and row.status in {Status.FAILED, Status.ERROR}]
    assert failed
    with pytest.raises(GoldenError, match="failed required checks") as raised:
        promote(pair, project=here, promotion=Promotion(**SAID))
    assert set(failed) - OF_THE_GOLDEN == set(
        str(raised.value).split("checks: ")[1].split(".")[0].split(", ")
    )
    assert not list(here.golden_dir.rglob("*"))


def test_what_is_allowed_is_recorded_in_the_provenance(pair, here):
    golden = promote(pair, project=here, promotion=Promotion(allow_failed=True, **SAID))
    recorded = json.loads((golden.path / "provenance.json").read_text())["failed_checks"]
    report = judge_again(pair, Request(), project=here)
    told = {row.id: (str(row.status), row.reason) for row in report.checks}
    assert recorded
    assert all(set(row) == {"id", "status", "reason"} for row in recorded)
    assert all(told[row["id"]][0] == row["status"] for row in recorded if row["id"] not in OF_THE_GOLDEN)


@pytest.mark.parametrize("row", ["resume_equal", "unchanged_when_varied"])
def test_a_row_about_a_run_beside_them_counts_as_the_report_has_it(pair, here, monkeypatch, row):
    """Judging the pair again cannot see a resumed or varied run; the report that did says what came of it."""
    report = judge_again(pair, Request(), project=here)
    failed = {"status": Status.FAILED, "required": True, "reason": "step 3 differs"}
    rows = tuple(replace(one, **failed) if one.id == row else one for one in report.checks)
    render_all(replace(report, checks=rows), here.reports_dir / "cartpole_baseline" / "T")
    monkeypatch.setattr(checks, "run_all", lambda _evidence: ())
    with pytest.raises(GoldenError, match=f"failed required checks: {row}"):
        promote(pair, project=here, promotion=Promotion(**SAID))


def test_runs_that_failed_nothing_are_promoted_and_record_nothing(pair, here, monkeypatch):
    monkeypatch.setattr(checks, "run_all", lambda _evidence: ())
    golden = promote(pair, project=here, promotion=Promotion(**SAID))
    assert "failed_checks" not in golden.document


def test_runs_that_agree_are_refused_where_another_one_of_the_same_differs(make, programs, here, monkeypatch):
    monkeypatch.setattr(checks, "run_all", lambda _evidence: ())
    first, second, third = make.of_recipe(
        programs["training"](), programs["training"](loss=lambda step: 2 / step), programs["training"]()
    )
    with pytest.raises(GoldenError, match="failed required checks: repeatable") as raised:
        promote((first, third), project=here, promotion=Promotion(**SAID))
    assert str(second) in str(raised.value)
    golden = promote((first, third), project=here, promotion=Promotion(allow_failed=True, **SAID))
    assert [row["id"] for row in golden.document["failed_checks"]] == ["repeatable"]
