"""``verify --compare``: what a gate says of numbers that moved, and when that fails it."""

from __future__ import annotations

import pytest

from reprokit.core.checklist import Verdict
from reprokit.errors import UsageError
from reprokit.features.compare import gate, verify_options
from reprokit.reports.comparison_record import ComparisonRecord, ComparisonRow, read_comparisons
from reprokit.request import Request

OPTIONS = {
    "compare_with": "main",
    "compare_file": None,
    "moved_fails": False,
    "backend": "auto",
    "base": "auto",
}


@pytest.fixture
def added(monkeypatch, sample_report):
    def of(*, verdict: Verdict = Verdict.REPRODUCED, record=None, **row):
        found = ComparisonRecord(
            against="main", rows=(ComparisonRow(recipe="train", seed=3, record=record, **row),)
        )
        monkeypatch.setattr(gate, "compare_all", lambda *_, **__: found)
        options = {**OPTIONS, "moved_fails": True}
        return verify_options.GATE.adds([sample_report(verdict)], options, None)

    return of


@pytest.mark.parametrize(("answer", "code"), [("equal", None), ("different", 1), ("unjudged", 4), (None, 3)])
def test_what_is_not_shown_to_be_equal_fails_where_that_is_asked_for(added, answer, code):
    assert added(answer=answer, sentence="because").exit_code == code


def test_a_gate_that_fails_already_keeps_its_exit_code(added):
    assert added(verdict=Verdict.REGRESSION, answer="unjudged").exit_code is None


def test_by_default_a_number_that_moved_is_told_and_fails_nothing(monkeypatch, sample_report, tmp_path):
    row = ComparisonRow(recipe="train", seed=3, answer="different", record=3, sentence="the sides differ")
    found = ComparisonRecord(against="main", rows=(row,))
    monkeypatch.setattr(gate, "compare_all", lambda *_, **__: found)
    file = tmp_path / "reports" / "comparisons.json"
    told = verify_options.GATE.adds(
        [sample_report(Verdict.REPRODUCED)], {**OPTIONS, "compare_file": file}, None
    )
    assert told.exit_code is None
    assert told.lines == ("train seed 3, compared with main: moved from record 3 on",)
    assert read_comparisons(file.read_bytes()).rows == [row]


def test_a_mistake_whose_text_speaks_of_one_commit_is_not_an_equal_number(monkeypatch, sample_report):
    def mistaken(*_, **__):
        raise UsageError("unknown key 'same commit'")

    monkeypatch.setattr(gate, "compare_recipe", mistaken)
    report = sample_report(Verdict.REPRODUCED)
    found = gate.compare_all([report], against="main", request=Request(), session=None)
    assert [row.answer for row in found.rows] == [None]
