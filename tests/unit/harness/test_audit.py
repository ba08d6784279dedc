"""Whether a report follows from its evidence: every kind of tampering is found."""

from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path

import pytest

from reprokit import checks, extras, reports
from reprokit.core.records import Outcome
from reprokit.errors import CannotJudgeError, MissingExtraError, ReportError
from reprokit.golden import Promotion
from reprokit.harness import Project, Request, audit, judge_again
from reprokit.harness.curation import promote
from reprokit.harness.judging.report_index import INDEX, write_index
from reprokit.reports.formats import to_json, to_pdf
from reprokit.workspace import sha256_of
from support.fake_backend import training
from support.made_runs import MadeRuns
from support.recorded_progress import RecordedProgress
from support.rewound import Rewound


@pytest.fixture(scope="module")
def once(tmp_path_factory, recipe):
    """A report of two runs of the recipe that are equal to their golden: their project, its folder, they."""
    place = tmp_path_factory.mktemp("reported") / "place"
    place.mkdir()
    here = Project.around(place)
    folders = MadeRuns(here=here, recipe=recipe, told=RecordedProgress()).of_recipe(training(), training())
    promote(
        folders,
        project=here,
        promotion=Promotion(
            reason="first", created_at="2026-11-20T10:15:00+00:00", allow_dirty=True, allow_failed=True
        ),
    )
    report = judge_again(folders, Request(), project=here)
    folder = here.reports_dir / "cartpole_baseline" / "T"
    reports.render_all(report, folder)
    return Rewound.keep(place), folder, folders


@pytest.fixture
def reported(once):
    once[0].rewind()
    return once[1:]


@pytest.fixture
def here(request, tmp_path):
    """The project of the report, for a test that asks for it; else an empty one."""
    asked = "reported" in request.fixturenames
    return Project.around(request.getfixturevalue("once")[0].place if asked else tmp_path)


def audited(reported, here):
    return audit(reported[0] / "report.json", project=here)


def edit(path: Path, **changes) -> None:
    """Change keys of a report, and draw the other files again: a careful forger."""
    told = {**json.loads(path.read_text()), **changes}
    path.write_text(json.dumps(told))
    reports.render_all(to_json.load(path), path.parent)


def test_an_honest_report_stands(reported, here):
    found = audited(reported, here)
    assert (found.follows, found.findings, found.exit_code) == (True, (), 0)


@pytest.mark.parametrize("text", [None, "REPRODUCED", "NOT_RUN"])
def test_the_index_of_the_folder_is_no_evidence(reported, here, text):
    write_index(here.reports_dir)
    index = here.reports_dir / INDEX
    assert "cartpole_baseline/T/report.html" in index.read_text()
    index.unlink()
    if text is not None:
        index.write_text(text)
    assert audited(reported, here).findings == ()


def test_a_report_that_was_asked_for_strictly_stands_as_well(reported, here):
    folder, folders = reported
    reports.render_all(judge_again(folders, Request(strict=True), project=here), folder)
    assert audited(reported, here).findings == ()


def test_a_report_of_a_gate_names_the_gate_and_stands(reported, here):
    folder, folders = reported
    report = judge_again(folders, Request(gate=True), project=here)
    assert report.rerun.startswith("reprokit verify cartpole_baseline --seed 42")
    reports.render_all(report, folder)
    assert audited(reported, here).findings == ()


def test_a_report_of_a_plain_command_that_left_a_metric_out_stands(here, make, programs):
    def program(spec, output, on_tick):
        programs["logging"]()(spec, output, on_tick)
        lines = (output / "metrics.jsonl").read_text().splitlines()
        more = [f'{line[:-1]}, "time/fps": {id(output)}}}' for line in lines]
        (output / "metrics.jsonl").write_text("\n".join(more) + "\n")

    folders = make.of_command(program, program)
    report = judge_again(folders, Request(ignore=("time/*",)), project=here)
    assert report.exit_code == 0
    folder = here.reports_dir / "plain" / "T"
    reports.render_all(report, folder)
    assert audited((folder, folders), here).findings == ()


@pytest.mark.parametrize(
    ("tamper", "finding"),
    [
        (lambda run: (run / "metrics.jsonl").write_text('{"step": 1, "x": 2}\n'), "metrics.jsonl was"),
        (lambda run: (run / "checkpoints" / "final_model.pt").write_bytes(b"x"), "final_model.pt was"),
        (lambda run: (run / "COMPLETE").unlink(), "COMPLETE is gone"),
        (lambda run: (run / "note.txt").write_text("x"), "note.txt was added"),
        (lambda run: (run / "runtime.json").unlink(), "runtime.json is missing"),
    ],
)
@pytest.mark.parametrize("which", [0, 1])
def test_a_run_folder_that_was_touched_is_found(reported, here, tamper, finding, which):
    tamper(reported[1][which])
    found = audited(reported, here)
    assert (found.follows, found.exit_code) == (False, 1)
    assert any(finding in text for text in found.findings), found.findings


def test_a_run_forged_together_with_its_marker_is_found_by_the_reports_digest(reported, here):
    run = reported[1][0]
    (run / "stdout.log").write_text("forged\n")
    marker = json.loads((run / "COMPLETE").read_text())
    marker["files"]["stdout.log"] = {"sha256": sha256_of(run / "stdout.log"), "bytes": 7}
    (run / "COMPLETE").write_text(json.dumps(marker))
    found = audited(reported, here)
    assert found.exit_code == 1
    assert any("COMPLETE was changed after the report" in text for text in found.findings)


@pytest.mark.parametrize("name", ["report.md", "report.html", "junit.xml"])
@pytest.mark.parametrize("how", ["edited", "gone"])
def test_a_drawing_that_is_not_what_the_report_gives_is_found(reported, here, name, how):
    path = reported[0] / name
    path.unlink() if how == "gone" else path.write_text(path.read_text() + " ")
    found = audited(reported, here)
    assert found.exit_code == 1
    assert any(name in text for text in found.findings)


@pytest.mark.parametrize(
    "changes",
    [
        {"seed": 7},
        {"sentence": "All is well."},
        {"platform": "cuda-h200"},
        {
            "environment_diff": [
                {"field": "x", "expected": 1, "actual": 2, "can_change_numbers": "no", "why": ""}
            ]
        },
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_a_report_edited_with_care_is_found(reported, here, changes):
    edit(reported[0] / "report.json", **changes)
    found = audited(reported, here)
    assert found.exit_code == 1
    assert any(key in text for key in changes for text in found.findings), found.findings


@pytest.mark.parametrize(("field", "value"), [("reason", "trust me"), ("status", "SKIPPED")])
def test_an_edited_row_is_found(reported, here, field, value):
    rows = json.loads((reported[0] / "report.json").read_text())["checks"]
    rows[3][field] = value
    rows[3]["remedy"] = "x" if field == "status" else rows[3]["remedy"]
    edit(reported[0] / "report.json", checks=rows)
    found = audited(reported, here)
    assert found.exit_code == 1, "an edited row was not noticed"


@pytest.mark.parametrize("field", ["title", "reason", "remedy", "evidence", "required"])
@pytest.mark.parametrize("row", [*checks.registry()])
def test_an_edit_of_any_part_of_any_row_is_found_and_the_row_is_named(reported, here, row, field):
    rows = json.loads((reported[0] / "report.json").read_text())["checks"]
    told = next(one for one in rows if one["id"] == row)
    edits = {"required": not told["required"], "evidence": {"planted": 1}}
    told[field] = edits.get(field, "planted")
    edit(reported[0] / "report.json", checks=rows)
    assert f"row {row} differs from what the evidence gives" in audited(reported, here).findings


def test_an_edited_reason_of_a_run_that_failed_is_found(here, make, programs):
    ended = programs["ended"](Outcome.CRASHED, 1, "the program ended with exit code 1")
    folders = make.of_recipe(lambda *_: ended)
    folder = here.reports_dir / "cartpole_baseline" / "T"
    reports.render_all(judge_again(folders, Request(), project=here), folder)
    assert audited((folder, folders), here).findings == ()
    told = json.loads((folder / "report.json").read_text())["not_run"]
    edit(folder / "report.json", not_run={**told, "remedy": "nothing to worry about"})
    assert audited((folder, folders), here).findings == ("not_run differs from what the evidence gives",)


def test_a_row_taken_out_is_found(reported, here):
    rows = json.loads((reported[0] / "report.json").read_text())["checks"]
    edit(reported[0] / "report.json", checks=rows[:-1])
    assert any(rows[-1]["id"] in text for text in audited(reported, here).findings)


def test_evidence_that_is_gone_cannot_be_judged(reported, here):
    shutil.rmtree(reported[1][1])
    found = audited(reported, here)
    assert (found.follows, found.exit_code) == (False, 4)
    assert found.findings == (f"{reported[1][1]} is gone",)


def test_a_page_that_cannot_be_drawn_again_is_not_taken_for_good(reported, here, monkeypatch):
    monkeypatch.setattr(extras, "is_installed", lambda name: name != "jinja2")
    with pytest.raises(MissingExtraError, match=r"reprokit-verify\[html\]"):
        audited(reported, here)
    (reported[0] / reports.PAGE).write_text(reports.NO_PAGE)
    assert audited(reported, here).findings == ()


def test_a_golden_of_another_place_is_none_that_a_report_can_be_checked_with(reported, here, tmp_path):
    elsewhere = dataclasses.replace(here, golden_dir=tmp_path / "other")
    found = audit(reported[0] / "report.json", project=elsewhere)
    assert (found.follows, found.exit_code) == (False, 4)
    assert "name its folder with --golden" in found.findings[0]


def test_a_report_whose_runs_were_edited_does_not_stand_wherever_its_golden_is(reported, here, tmp_path):
    elsewhere = dataclasses.replace(here, golden_dir=tmp_path / "other")
    (reported[1][0] / "stdout.log").write_text("forged\n")
    found = audit(reported[0] / "report.json", project=elsewhere)
    assert (found.follows, found.exit_code) == (False, 1)
    assert "name its folder with --golden" in found.findings[-1]


def test_what_is_no_report_is_refused(tmp_path, here):
    (tmp_path / "report.json").write_text("{}")
    with pytest.raises(ReportError):
        audit(tmp_path / "report.json", project=here)


def test_a_report_without_runs_is_refused(reported, here):
    edit(reported[0] / "report.json", runs=[])
    with pytest.raises(ReportError, match="names no run"):
        audited(reported, here)


@pytest.mark.parametrize("instead", ["an empty folder", "a file", "a list"])
def test_a_run_folder_that_is_none_any_more_is_found(reported, here, instead):
    run = reported[1][0]
    if instead == "a list":
        (run / "run.json").write_text("[]")
    else:
        shutil.rmtree(run)
        run.mkdir() if instead == "an empty folder" else run.write_text("")
    found = audited(reported, here)
    assert (found.follows, found.exit_code) == (False, 1)
    assert any(str(run) in finding for finding in found.findings)


OTHER_VERSION = {"name": "reprokit", "version": "0.0.9", "code": "sha256:" + "0" * 64}


def rows_with(path, name, **changes):
    rows = json.loads(path.read_text())["checks"]
    return [{**row, **changes} if row["id"] == name else row for row in rows]


@pytest.mark.parametrize("tool", [OTHER_VERSION, None])
def test_sentences_and_pages_of_another_version_are_named_and_no_forgery(reported, here, tool):
    path = reported[0] / "report.json"
    rows = rows_with(path, "repeatable", reason="as it was said then")
    edit(path, tool=tool, sentence="Both runs agree.", checks=rows)
    (reported[0] / reports.PAGE).write_text("a page of then")
    found = audited(reported, here)
    assert (found.follows, found.exit_code) == (True, 0)
    assert len(found.not_checked) == 3
    for what in (reports.PAGE, "row repeatable differs", "sentence differs"):
        assert any(what in one for one in found.not_checked)
    assert ("0.0.9" in found.made_by) == (tool is OTHER_VERSION)


def test_a_row_that_another_version_did_not_have_yet_is_named(reported, here):
    path = reported[0] / "report.json"
    rows = [row for row in json.loads(path.read_text())["checks"] if row["id"] != "repeatable"]
    edit(path, tool=OTHER_VERSION, checks=rows)
    found = audited(reported, here)
    assert found.follows
    assert found.not_checked == ("row repeatable: the evidence says PASSED",)


@pytest.mark.parametrize(
    ("changes", "finding"),
    [
        ({"verdict": "REGRESSION"}, "the evidence says CHECK_FAILED"),
        ({"seed": 7}, "seed differs"),
        ({"row": {"status": "FAILED"}}, "row repeatable: the evidence says PASSED"),
        ({"row": {"required": False}}, "row repeatable differs"),
        ({"row": {"evidence": {"records": 5}}}, ""),
    ],
)
def test_what_counts_is_checked_of_another_version_too(reported, here, changes, finding):
    path = reported[0] / "report.json"
    row = changes.pop("row", None)
    if row and "evidence" in row:
        (told,) = (
            one["evidence"] for one in json.loads(path.read_text())["checks"] if one["id"] == "repeatable"
        )
        name = next(iter(told))
        row, finding = {"evidence": {**told, name: "another"}}, "row repeatable differs"
    if row:
        changes["checks"] = rows_with(path, "repeatable", **row)
    edit(path, tool=OTHER_VERSION, **changes)
    found = audited(reported, here)
    assert (found.follows, found.exit_code) == (False, 1)
    assert any(finding in one for one in found.findings)


def test_a_page_of_another_version_that_is_gone_is_found(reported, here):
    edit(reported[0] / "report.json", tool=OTHER_VERSION)
    (reported[0] / reports.PAGE).unlink()
    assert any("is gone" in one for one in audited(reported, here).findings)


@pytest.fixture
def paper(reported):
    """The report as a PDF, next to no other file of it."""
    report = to_json.load(reported[0])
    file = reported[0].parent / "elsewhere" / "report.pdf"
    file.parent.mkdir()
    file.write_bytes(to_pdf.to_pdf(report))
    return file


def test_an_honest_pdf_stands_by_the_report_inside(paper, reported, here):
    shutil.rmtree(reported[0])

    found = audit(paper, project=here)

    assert (found.follows, found.findings, found.exit_code) == (True, (), 0)


def test_pages_that_were_changed_or_that_are_of_another_report_do_not_stand(paper, reported, here):
    honest, report = paper.read_bytes(), to_json.load(reported[0])
    other = to_pdf.to_pdf(dataclasses.replace(report, sentence="It could not be better."))
    assert honest.count(b"/Lang") == 1
    for forged in (honest + b"\n", honest.replace(b"/Lang", b"/Lamg"), other):
        paper.write_bytes(forged)
        found = audit(paper, project=here)
        assert (found.follows, found.exit_code) == (False, 1)


def test_a_pdf_whose_runs_were_changed_does_not_stand(paper, reported, here):
    metrics = reported[1][0] / "metrics.jsonl"
    metrics.write_text(metrics.read_text().replace("1", "2"))

    assert audit(paper, project=here).exit_code == 1


def test_pages_that_say_they_are_of_another_typst_cannot_be_checked(paper, here):
    here_is = to_pdf.typst_here()
    assert here_is
    forged = paper.read_bytes().replace(b"Typst " + here_is.encode(), b"Typst " + b"9" * len(here_is))
    paper.write_bytes(forged)

    with pytest.raises(CannotJudgeError, match="cannot be told"):
        audit(paper, project=here)


def test_a_pdf_is_not_checked_without_what_draws_its_pages(paper, here, monkeypatch):
    real = extras.is_installed
    monkeypatch.setattr(extras, "is_installed", lambda name: name != "typst" and real(name))

    with pytest.raises(MissingExtraError, match=r"reprokit-verify\[pdf\]"):
        audit(paper, project=here)
