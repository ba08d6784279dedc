from __future__ import annotations

import dataclasses
import errno
from collections.abc import Callable
from pathlib import Path

import pytest

from reprokit import extras, workspace
from reprokit.core.checklist import Report, Verdict
from reprokit.errors import ReportError, WorkspaceError
from reprokit.reports import NO_PAGE, PAGE, documents, render_all
from reprokit.reports.formats.to_json import load

Sample = Callable[[Verdict], Report]

_FILES = ["junit.xml", "report.html", "report.json", "report.md"]


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_folder_is_made_and_holds_the_four_files(sample_report: Sample, tmp_path: Path) -> None:
    folder = tmp_path / "cartpole_baseline" / "20261120T101531Z"

    render_all(sample_report(Verdict.REGRESSION), folder)

    assert _names(folder) == _FILES
    assert load(folder) == load(folder / "report.json")
    assert load(folder).verdict is Verdict.REGRESSION


def test_the_files_are_the_documents_and_a_report_that_was_read_gives_them_again(
    sample_report: Sample, tmp_path: Path
) -> None:
    render_all(sample_report(Verdict.STALE_GOLDEN), tmp_path)

    again = documents(load(tmp_path))

    assert sorted(again) == _FILES
    assert {name: (tmp_path / name).read_text(encoding="utf-8") for name in again} == again


def test_drawing_again_replaces_all_four(sample_report: Sample, tmp_path: Path) -> None:
    render_all(sample_report(Verdict.REGRESSION), tmp_path)
    render_all(sample_report(Verdict.REPRODUCED), tmp_path)

    assert _names(tmp_path) == _FILES
    assert all("REPRODUCED" in (tmp_path / name).read_text() for name in _FILES)


def test_all_texts_are_written_even_when_names_are_no_text(
    samples, sample_report: Sample, tmp_path: Path
) -> None:
    render_all(samples.with_text(sample_report(Verdict.REGRESSION), "\ud800\x00\x1b"), tmp_path)

    assert _names(tmp_path) == _FILES


@pytest.mark.parametrize("failing", range(4))
def test_a_full_disk_leaves_the_earlier_report_as_it_was(
    sample_report: Sample, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: int
) -> None:
    render_all(sample_report(Verdict.REPRODUCED), tmp_path)
    before = {name: (tmp_path / name).read_bytes() for name in _FILES}
    write, num_calls = workspace.write_atomic, 0

    def full(path: Path, data: bytes) -> None:
        nonlocal num_calls
        num_calls += 1
        if num_calls > failing:
            raise workspace.cannot_write(path, OSError(errno.ENOSPC, "No space left on device"))
        write(path, data)

    monkeypatch.setattr(workspace, "write_atomic", full)
    with pytest.raises(WorkspaceError, match="no space left") as caught:
        render_all(sample_report(Verdict.REGRESSION), tmp_path)

    assert caught.value.exit_code == 3
    assert {name: (tmp_path / name).read_bytes() for name in _names(tmp_path)} == before


def test_a_folder_that_cannot_be_made_is_named(sample_report: Sample, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")

    with pytest.raises(WorkspaceError, match="file"):
        render_all(sample_report(Verdict.REPRODUCED), tmp_path / "file" / "report")


def test_a_report_that_breaks_its_schema_is_not_written(sample_report: Sample, tmp_path: Path) -> None:
    wrong = dataclasses.replace(sample_report(Verdict.REGRESSION), exit_code=0)

    with pytest.raises(ReportError, match="exit code"):
        render_all(wrong, tmp_path)

    assert _names(tmp_path) == []


def test_a_report_that_is_not_there_is_an_error_with_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(ReportError, match="report show") as caught:
        load(tmp_path)

    assert str(tmp_path / "report.json") in str(caught.value)


def test_without_jinja_the_page_says_no_more_than_that(sample_report: Sample, monkeypatch) -> None:
    report = sample_report(Verdict.REGRESSION)
    drawn = documents(report)
    monkeypatch.setattr(extras, "is_installed", lambda name: name != "jinja2")

    assert documents(report) == {**drawn, PAGE: NO_PAGE}
    assert "pip install 'reprokit-verify[html]'" in NO_PAGE
