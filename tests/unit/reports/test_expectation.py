"""A genuine report that is not the one that was expected: another verdict, another commit, too old."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime, timedelta

import pytest

from reprokit.core.checklist import CheckResult, Status, Verdict, exit_code
from reprokit.reports import expectation
from reprokit.reports.expectation import Expectation, unmet

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
COMMIT = "1f2e3d4c" * 5
OTHER = "0" * 40


@pytest.fixture
def report(sample_report):
    """A report of two runs of one clean commit, made an hour ago."""
    return of_commit(dated(sample_report(Verdict.REPRODUCED), timedelta(hours=1)), COMMIT)


def dated(report, ago, *, runs_ago=None):
    ended = [(NOW - (runs_ago or ago)).isoformat() for _ in report.runs]
    return dataclasses.replace(
        report, created_at=(NOW - ago).isoformat(), timing={"runs": [{"ended_at": end} for end in ended]}
    )


def of_commit(report, commit, *, status=Status.PASSED, **evidence):
    row = CheckResult(
        id="source_clean",
        title="",
        status=status,
        reason="so",
        remedy="",
        required=False,
        evidence={"commit": commit, **evidence},
    )
    rows = tuple(one for one in report.checks if one.id != "source_clean")
    source = {"commit": commit, "dirty": status is not Status.PASSED}
    return dataclasses.replace(
        report, checks=(*rows, row), environment={**report.environment, "source": source}
    )


def test_anything_will_do_where_nothing_is_expected(report):
    assert unmet(report, Expectation(), now=NOW) == ()


def test_all_that_is_expected_and_so_is_met(report):
    expected = Expectation(verdict=Verdict.REPRODUCED, commit=COMMIT, max_age=timedelta(hours=1))
    assert unmet(report, expected, now=NOW) == ()


@pytest.mark.parametrize("verdict", Verdict)
@pytest.mark.parametrize("wanted", Verdict)
def test_only_the_named_verdict_is_the_expected_one(sample_report, verdict, wanted):
    found = unmet(sample_report(verdict), Expectation(verdict=wanted), now=NOW)
    assert bool(found) is (verdict is not wanted)


@pytest.mark.parametrize("verdict", Verdict)
def test_a_genuine_report_ends_as_its_verdict_does_or_with_0_where_it_is_expected(sample_report, verdict):
    report = sample_report(verdict)
    assert expectation.exit_code(report, Expectation(), audited=0, met=True) == exit_code(verdict)
    assert expectation.exit_code(report, Expectation(verdict=verdict), audited=0, met=True) == 0
    assert expectation.exit_code(report, Expectation(verdict=verdict), audited=0, met=False) == 1


@pytest.mark.parametrize("verdict", Verdict)
@pytest.mark.parametrize("audited", [1, 4])
def test_a_report_that_does_not_stand_is_never_a_success(sample_report, verdict, audited):
    for expected in (Expectation(), Expectation(verdict=verdict)):
        found = expectation.exit_code(sample_report(verdict), expected, audited=audited, met=True)
        assert found == audited
    assert expectation.exit_code(sample_report(verdict), Expectation(), audited=audited, met=False) == 1


def test_another_commit_changed_code_and_no_row_are_told(report):
    wanted = Expectation(commit=COMMIT)
    assert unmet(of_commit(report, OTHER), wanted, now=NOW) == (f"the commit is {OTHER}, not {COMMIT}",)
    for status in set(Status) - {Status.PASSED}:
        assert unmet(of_commit(report, COMMIT, status=status), wanted, now=NOW)
    assert unmet(dataclasses.replace(report, checks=()), wanted, now=NOW)
    assert unmet(dataclasses.replace(report, environment={}), wanted, now=NOW)


def test_a_part_of_a_commit_s_name_is_not_the_commit(report):
    assert unmet(report, Expectation(commit=COMMIT[:12]), now=NOW)


@pytest.mark.parametrize(
    ("ago", "runs_ago", "told"),
    [
        (timedelta(hours=1), timedelta(hours=1), ""),
        (timedelta(days=7), timedelta(days=7), ""),
        (timedelta(days=7, seconds=1), timedelta(days=7), "the report is from"),
        (timedelta(hours=1), timedelta(days=8), "the run"),
        (timedelta(minutes=-4), timedelta(minutes=-4), ""),
        (timedelta(minutes=-6), timedelta(minutes=1), "the report is dated in the future"),
        (timedelta(minutes=1), timedelta(minutes=-6), "dated in the future"),
    ],
)
def test_a_report_is_as_old_as_its_oldest_run(report, ago, runs_ago, told):
    found = unmet(dated(report, ago, runs_ago=runs_ago), Expectation(max_age=timedelta(days=7)), now=NOW)
    assert bool(found) is bool(told)
    assert all(told in one for one in found)


@pytest.mark.parametrize("date", ["", "soon", "2026-11-20T11:00:00", "20261120"])
def test_a_date_that_says_no_moment_is_never_young_enough(report, date):
    found = unmet(
        dataclasses.replace(report, created_at=date), Expectation(max_age=timedelta(days=7)), now=NOW
    )
    assert "cannot be read" in found[0]


@pytest.mark.parametrize("timing", [{}, {"runs": []}, {"runs": None}, {"runs": [{}, {}]}, {"runs": [1, 2]}])
def test_finished_runs_without_a_date_are_never_young_enough(report, timing):
    found = unmet(dataclasses.replace(report, timing=timing), Expectation(max_age=timedelta(days=7)), now=NOW)
    assert len(found) == len(report.runs)


def test_a_run_that_never_ended_needs_no_date(sample_report):
    report = dated(sample_report(Verdict.NOT_RUN), timedelta(hours=1))
    report = dataclasses.replace(report, timing={})
    assert unmet(report, Expectation(max_age=timedelta(days=7)), now=NOW) == ()


def test_a_full_name_needs_no_repository(tmp_path):
    assert expectation.full_name(COMMIT, folder=tmp_path) == COMMIT
