"""Goldens, runs and reports that past versions left are read, and come to the verdict that they came to."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from reprokit import golden, reports
from reprokit.golden import Promotion
from reprokit.harness import Project, Request, audit, judge_again
from reprokit.harness.curation import compare_goldens, lint_goldens, opened, promote
from reprokit.reports.formats import to_json
from reprokit.runs import list_all, read

DATA = Path(__file__).resolve().parents[2] / "data"
SCHEMAS = sorted(folder.name for folder in DATA.glob("schema-*"))
#: Where every one of them was made; a report names its runs by their whole paths.
MADE_AT = "/project"
LATER_ROWS = {"distinct"}


@pytest.fixture(params=SCHEMAS)
def past(request: pytest.FixtureRequest, tmp_path: Path) -> Project:
    root = tmp_path / "past"
    shutil.copytree(DATA / request.param, root)
    for file in root.glob("reports/*/*/report.json"):
        file.write_text(re.sub(rf'(?<=[" ]){MADE_AT}/', f"{root}/", file.read_text()))
    return Project.around(root)


def goldens(project: Project) -> list[Path]:
    return [row.path for row in golden.list_all(project.golden_dir)]


def runs_of(project: Project) -> list[Path]:
    return list_all(project.runs_dir)


def test_there_is_a_past() -> None:
    assert "schema-1" in SCHEMAS


def test_runs_are_whole(past: Project) -> None:
    assert [read(folder).incomplete_because for folder in runs_of(past)] == ["", ""]


def test_goldens_are_read_listed_and_linted(past: Project) -> None:
    rows = golden.list_all(past.golden_dir)
    assert [row.problem for row in rows] == [""]
    assert "unreadable" not in {finding.rule for finding in lint_goldens(past, min_runs=2)}


def test_runs_are_judged_against_the_golden_as_they_were(past: Project) -> None:
    (file,) = past.root.glob("reports/*/*/report.json")
    told = json.loads(file.read_text())
    report = judge_again(runs_of(past), Request(), project=past)
    assert (str(report.verdict), report.exit_code) == (told["verdict"], told["exit_code"])
    then = {row["id"]: row["status"] for row in told["checks"]}
    assert {row.id: str(row.status) for row in report.checks if row.id in then} == then


def test_a_report_is_read_and_verified(past: Project) -> None:
    (file,) = past.root.glob("reports/*/*/report.json")
    for name, text in reports.documents(to_json.load(file)).items():
        if name != file.name:
            (file.parent / name).write_text(text, encoding="utf-8")
    found = audit(file, project=past)
    # Sentences may be worded better by now; what they say may not be another. A row that came later is told.
    later = {f"row {name}: the evidence says SKIPPED" for name in LATER_ROWS}
    said = {one for one in found.findings if "the evidence" in one and "differs from" not in one}
    assert said <= later


def test_a_changed_run_of_the_past_is_found(past: Project) -> None:
    (file,) = past.root.glob("reports/*/*/report.json")
    (runs_of(past)[1] / "metrics.jsonl").write_text('{"step": 1, "loss": 2.0}\n')
    assert audit(file, project=past).exit_code == 1


def test_a_golden_is_compared_with_one_of_today(past: Project, tmp_path: Path) -> None:
    today = promote(
        runs_of(past),
        project=replace(past, golden_dir=tmp_path / "today"),
        promotion=Promotion(
            reason="the same again",
            created_at="2026-12-01T00:00:00+00:00",
            allow_dirty=True,
            allow_failed=True,
        ),
    )
    (then,) = goldens(past)
    with opened(str(then), at=past.root) as before:
        found = compare_goldens(before, today)
    assert found.comparison.identical
    assert (found.moved, found.inputs) == ((), ())
