"""What a CI job kept, read by one that trusts none of it."""

from __future__ import annotations

import io
import json
import os
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from reprokit.core.checklist import Verdict
from reprokit.core.verdicts.rows import Status
from reprokit.errors import CannotJudgeError, ReportError
from reprokit.features.github import collected
from reprokit.reports.comparison_record import (
    COMPARISONS_FILE,
    ComparisonRecord,
    ComparisonRow,
    comparisons_json,
)
from reprokit.reports.formats import to_json
from reprokit.reports.gate_record import GATE_FILE, GateRecord, GateRow, gate_json

NAME = "reports/cartpole_baseline/1/report.json"


@pytest.fixture
def files(sample_report) -> dict[str, bytes]:
    return gate_of(sample_report(Verdict.REGRESSION))


def gate_of(report, *, name: str = NAME, **changes) -> dict[str, bytes]:
    told = {"recipe": report.recipe, "seed": report.seed, "verdict": report.verdict}
    row = GateRow(**(told | changes), exit_code=report.exit_code, report=name)
    gate = gate_json(GateRecord(exit_code=report.exit_code, recipes=(row,)))
    return {GATE_FILE: gate.encode(), name: to_json.to_json(report).encode()}


def packed(files: dict[str, bytes], *, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return stream.getvalue()


def laid(files: dict[str, bytes], folder: Path) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def test_archive_and_folder_are_read_alike(files, tmp_path, sample_report):
    for found in (collected.from_archive(packed(files)), collected.from_folder(laid(files, tmp_path))):
        [(row, report)] = found.reports
        assert row.verdict is Verdict.REGRESSION
        assert to_json.to_json(report) == to_json.to_json(sample_report(Verdict.REGRESSION))


@pytest.mark.parametrize("missing", [GATE_FILE, NAME])
def test_what_is_missing_is_no_pass(files, missing, tmp_path):
    del files[missing]
    with pytest.raises(CannotJudgeError):
        collected.from_archive(packed(files))
    with pytest.raises(CannotJudgeError):
        collected.from_folder(laid(files, tmp_path))


@pytest.mark.parametrize(
    "name",
    [
        "../outside/report.json",
        "/etc/hostname",
        "reports/../../outside/report.json",
        "a\\..\\report.json",
        "a\0b",
    ],
)
def test_a_report_outside_of_the_folder_is_refused_even_where_there_is_one(name, tmp_path, sample_report):
    report = sample_report(Verdict.REGRESSION)
    whole = gate_of(report, name=name)
    laid({"outside/report.json": whole[name]}, tmp_path)
    (tmp_path / "kept").mkdir()
    with pytest.raises(ReportError, match="outside of the folder"):
        collected.from_folder(laid({GATE_FILE: whole[GATE_FILE]}, tmp_path / "kept"))
    if "\0" not in name:
        with pytest.raises(ReportError, match="outside of the folder"):
            collected.from_archive(packed(whole))


def test_members_with_hostile_names_are_not_unpacked_anywhere(files, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    hostile = {"../../planted": b"x", "/tmp/planted": b"x", "reports/../planted": b"x"}
    collected.from_archive(packed(files | hostile))
    assert list(tmp_path.iterdir()) == []


def test_links_in_a_folder_are_not_followed(files, tmp_path):
    real = laid(files, tmp_path / "real")
    linked = tmp_path / "linked"
    linked.mkdir()
    (linked / GATE_FILE).write_bytes(files[GATE_FILE])
    (linked / "reports").symlink_to(real / "reports")
    with pytest.raises(ReportError, match="a link"):
        collected.from_folder(linked)


def test_a_pipe_in_the_place_of_a_file_is_refused_and_waits_for_nobody(tmp_path):
    os.mkfifo(tmp_path / GATE_FILE)
    with pytest.raises(ReportError):
        collected.from_folder(tmp_path)


@pytest.mark.parametrize("changes", [{"recipe": "other"}, {"seed": 7}])
def test_a_row_that_says_something_else_than_its_report_is_refused(sample_report, changes):
    with pytest.raises(ReportError, match="contradict"):
        collected.from_archive(packed(gate_of(sample_report(Verdict.REGRESSION), **changes)))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda good: {"checks": ()}, "its row repeatable did not pass"),
        (lambda good: {"runs": good.runs[:1]}, "fewer than two runs"),
        (lambda good: {"runs": good.runs[:1] * 2}, "fewer than two runs"),
        (
            lambda good: {"checks": tuple(replace(row, status=Status.FAILED) for row in good.checks)},
            "required rows failed",
        ),
    ],
    ids=["no rows", "one run", "one run twice", "failed rows"],
)
def test_a_good_verdict_that_the_rest_of_its_report_rules_out_is_refused(sample_report, change, why):
    good = sample_report(Verdict.REPRODUCED)
    assert collected.from_archive(packed(gate_of(good))).reports
    with pytest.raises(ReportError, match=why):
        collected.from_archive(packed(gate_of(replace(good, **change(good)))))


def test_a_good_row_over_a_bad_report_is_refused(files):
    gate = json.loads(files[GATE_FILE])
    gate["exit_code"] = 0
    gate["recipes"][0] |= {"verdict": "REPRODUCED", "exit_code": 0}
    files[GATE_FILE] = json.dumps(gate).encode()
    with pytest.raises(ReportError, match="contradict"):
        collected.from_archive(packed(files))


def test_a_report_that_was_changed_is_read_as_strictly_as_any(files):
    report = json.loads(files[NAME])
    for broken in (report | {"further": 1}, report | {"exit_code": 0}, {}, [], None):
        with pytest.raises(ReportError):
            collected.from_archive(packed(files | {NAME: json.dumps(broken).encode()}))


def test_bombs_are_stopped_while_they_are_read(files, monkeypatch):
    monkeypatch.setattr(collected, "_MAX_REPORT_BYTES", 1 << 20)
    bomb = packed(files | {NAME: b" " * (64 << 20)})
    assert len(bomb) < 1 << 20
    with pytest.raises(ReportError, match="too large"):
        collected.from_archive(bomb)


def test_all_reports_together_have_a_limit(sample_report, monkeypatch):
    report = sample_report(Verdict.REGRESSION)
    text = to_json.to_json(report).encode()
    monkeypatch.setattr(collected, "_MAX_TOTAL_BYTES", len(text) * 5 // 2)
    names = [f"reports/{number}/report.json" for number in range(3)]
    told = {"recipe": report.recipe, "seed": report.seed, "verdict": report.verdict, "exit_code": 1}
    for count in (2, 3):
        rows = tuple(GateRow(**told, report=name) for name in names[:count])
        gate = gate_json(GateRecord(exit_code=1, recipes=rows)).encode()
        content = packed({GATE_FILE: gate} | dict.fromkeys(names, text))
        if count == 2:
            assert len(collected.from_archive(content).reports) == 2
        else:
            with pytest.raises(ReportError, match="too large"):
                collected.from_archive(content)


def test_too_many_members_and_two_of_one_name_are_refused(files, monkeypatch):
    stream = io.BytesIO(packed(files))
    with zipfile.ZipFile(stream, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr(GATE_FILE, b"{}")
    with pytest.raises(ReportError, match="two files of one name"):
        collected.from_archive(stream.getvalue())
    monkeypatch.setattr(collected, "_MAX_MEMBERS", 1)
    with pytest.raises(ReportError, match="2 files"):
        collected.from_archive(packed(files))


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_compressions_are_refused(files, method):
    with pytest.raises(ReportError, match="not compressed as artifacts are"):
        collected.from_archive(packed(files, method=method))


def test_every_cut_and_every_changed_byte_is_an_error_of_ours_or_changes_nothing(files):
    """The archive is anyone's: no exception but our own may leave, and a changed report is never taken."""
    whole = packed(files)
    before = collected.from_archive(whole)
    for end in range(0, len(whole), 97):
        with pytest.raises(ReportError):
            collected.from_archive(whole[:end])
    for place in range(0, len(whole), 31):
        changed = bytearray(whole)
        changed[place] ^= 0xFF
        try:
            found = collected.from_archive(bytes(changed))
        except (ReportError, CannotJudgeError):
            continue
        assert found == before


def test_an_archive_that_is_too_large_is_not_opened(monkeypatch):
    monkeypatch.setattr(collected, "MAX_ARCHIVE_BYTES", 10)
    with pytest.raises(ReportError, match="too large"):
        collected.from_archive(b"P" * 11)


def test_a_pipe_in_the_place_of_an_archive_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "left.zip")
    with pytest.raises(ReportError, match="not a regular file"):
        collected.from_place(tmp_path / "left.zip")


def test_a_report_with_a_name_longer_than_names_can_be_is_refused(files, tmp_path):
    for name, content in (
        files | {GATE_FILE: files[GATE_FILE].replace(NAME.encode(), b"r/" + b"a" * 5000)}
    ).items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    with pytest.raises(ReportError, match="name too long"):
        collected.from_place(tmp_path)


def test_comparisons_are_read_beside_the_gate_and_refused_in_another_form(files):
    row = ComparisonRow(recipe="train", seed=3, answer="different", record=3, sentence="the sides differ")
    told = comparisons_json(ComparisonRecord(against="main", rows=(row,))).encode()
    found = collected.from_archive(packed({**files, COMPARISONS_FILE: told}))
    assert found.comparisons is not None
    assert found.comparisons.rows == [row]
    assert collected.from_archive(packed(files)).comparisons is None
    for wrong in (b"null", b"{}", told.replace(b"different", b"fine"), told.replace(b"3,", b"true,", 1)):
        with pytest.raises(ReportError):
            collected.from_archive(packed({**files, COMPARISONS_FILE: wrong}))


def test_an_equal_row_that_names_a_record_contradicts_itself(files):
    row = {"recipe": "train", "seed": 3, "answer": "equal", "record": 3, "sentence": ""}
    told = json.dumps({"against": "main", "rows": [row], "schema": 1}).encode()
    with pytest.raises(ReportError, match="moved"):
        collected.from_archive(packed({**files, COMPARISONS_FILE: told}))
