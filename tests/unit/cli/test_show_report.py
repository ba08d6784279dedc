"""How verbs print: lines folded on a terminal only, paths as a person would type them, and GitHub."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from reprokit.cli import show_report
from reprokit.core.checklist import CheckResult, Report, Status, Verdict
from reprokit.core.report_parts import ReportComparisons
from reprokit.reports.formats import to_json


@pytest.fixture
def report(tmp_path: Path, monkeypatch) -> Report:
    monkeypatch.chdir(tmp_path)
    run = str(Path.cwd() / "runs" / "r" / "T-1")
    elsewhere = f"/elsewhere{Path.cwd()}/x"
    row = CheckResult(
        id="repeatable",
        title="Equal",
        status=Status.FAILED,
        reason=f"{run} differs; {elsewhere} too",
        remedy=f"see: `reprokit diff {run} {run}`",
        evidence={},
    )
    return Report(
        verdict=Verdict.NONDETERMINISTIC,
        exit_code=1,
        sentence=f"{run} differs.",
        next_command=f"reprokit diff {run}",
        recipe="r",
        platform="cpu-x86_64",
        seed=1,
        runs=(run,),
        golden=str(Path.cwd() / "golden" / "r"),
        environment_diff=[],
        divergence=None,
        checks=(row,),
        timing={},
        curves={},
        environment={},
        comparisons=ReportComparisons(),
        created_at="2026-11-20T10:15:31+00:00",
        command="reprokit reproduce r",
        rerun="make reproduce RECIPE=r",
    )


def test_people_see_paths_from_where_they_are(report, capsys):
    show_report.report(report, folder=Path.cwd() / "reports" / "r" / "T", as_json=False, verbose=True)
    out = capsys.readouterr().out
    assert "why: runs/r/T-1 differs." in out
    assert "next: reprokit diff runs/r/T-1\n" in out
    assert "run 1: runs/r/T-1" in out
    assert "golden: golden/r" in out
    assert "`reprokit diff runs/r/T-1 runs/r/T-1`" in out
    assert out.endswith("Report: reports/r/T/report.html\n")


def test_a_path_that_only_contains_the_working_directory_is_left_alone(report, capsys):
    show_report.report(report, folder=None, as_json=False)
    assert f"/elsewhere{Path.cwd()}/x" in capsys.readouterr().out


def test_programs_see_whole_paths(report, capsys):
    show_report.report(report, folder=Path.cwd() / "reports", as_json=True)
    out = capsys.readouterr().out
    assert to_json.from_json(out).runs == report.runs
    assert Path(report.runs[0]).is_absolute()


def test_a_report_folder_elsewhere_is_named_whole(report, capsys, tmp_path):
    show_report.report(report, folder=Path("/elsewhere/T"), as_json=False)
    assert "Report: /elsewhere/T/report.html" in capsys.readouterr().out


def test_a_terminal_gets_a_blank_line_before_the_reports_place(report, on_terminal):
    _, screen = on_terminal(show_report.report, report, folder=Path.cwd() / "reports", as_json=False)
    assert screen.endswith("\n\nReport:    reports/report.html\n")


def test_github_gets_annotations_on_standard_error_and_a_summary(report, capsys, tmp_path, monkeypatch):
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    show_report.to_github([report, dataclasses.replace(report, recipe="s")])
    told = capsys.readouterr()
    assert told.out == ""
    assert "::error" in told.err
    text = summary.read_text()
    assert text.startswith("before\n")
    assert text.count("NONDETERMINISTIC") >= 2


@pytest.mark.parametrize("actions", ["", "false"])
def test_anywhere_else_github_gets_nothing(report, capsys, tmp_path, monkeypatch, actions):
    monkeypatch.setenv("GITHUB_ACTIONS", actions)
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    show_report.to_github([report])
    assert capsys.readouterr() == ("", "")
    assert not (tmp_path / "summary.md").exists()


class _Answer:
    left_out = error = ""
    folder = None

    def __init__(self, report):
        self.recipe, self.report = report.recipe, report


def test_in_a_pipe_only_what_is_wrong_is_explained_below_many_good_recipes(report, capsys):
    good = dataclasses.replace(report, verdict=Verdict.REPRODUCED, exit_code=0)
    answers = [_Answer(dataclasses.replace(good, recipe=f"fine_{number}")) for number in range(5)]

    show_report.gate([*answers, _Answer(report)])
    lines = capsys.readouterr().out.splitlines()

    assert lines[0] == "verdict: NONDETERMINISTIC (exit code 1)"
    assert sum(line.startswith("verdict:") for line in lines) == 1
    assert [line for line in lines if line.startswith("REPRODUCED")] == [
        f"REPRODUCED        fine_{number} seed {report.seed}" for number in range(5)
    ]


def test_a_single_recipe_has_its_verdict_said_once(report, capsys):
    show_report.gate([_Answer(report)])
    assert capsys.readouterr().out.count("NONDETERMINISTIC") == 1


def test_in_a_job_the_runs_to_promote_are_made_again_by_who_reads_it(report, capsys, monkeypatch):
    command = (
        "if it is meant: reprokit golden promote runs/r/a-1 runs/r/a-2 --reason 'what changed' "
        "--reports-dir /home/runner/reports, else: reprokit reproduce r --seed 1 --attribute"
    )
    report = dataclasses.replace(report, next_command=command, recipe="r", seed=1, cause=None)
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    show_report.to_github([report])
    show_report.gate([_Answer(report)])
    told = capsys.readouterr()
    for text in (told.err, told.out):
        assert (
            "if it is meant: reprokit reproduce r --seed 1, then: reprokit golden promote r --reason "
            "'what changed', else: reprokit reproduce r --seed 1 --attribute"
        ) in text
        assert "/home/runner" not in text
    monkeypatch.delenv("GITHUB_ACTIONS")
    show_report.gate([_Answer(report)])
    assert command in capsys.readouterr().out
