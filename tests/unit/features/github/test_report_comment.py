"""``report comment`` and ``verify --gate-file``, as they are typed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reprokit.cli import main
from reprokit.core.checklist import Verdict
from reprokit.reports import gate_record
from reprokit.reports.formats import to_json
from support.sample_report import sample_report


@pytest.fixture
def type_words(capsys):
    def call(*words: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as left:
            main([str(word) for word in words])
        said = capsys.readouterr()
        return left.value.code, said.out, said.err

    return call


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    report = sample_report(Verdict.REGRESSION)
    row = gate_record.GateRow(
        recipe=report.recipe, seed=report.seed, verdict=report.verdict, exit_code=1, report="a/report.json"
    )
    (tmp_path / "kept" / "a").mkdir(parents=True)
    (tmp_path / "kept" / "a" / "report.json").write_text(to_json.to_json(report))
    gate = gate_record.GateRecord(exit_code=1, recipes=(row,))
    (tmp_path / "kept" / "gate.json").write_text(gate_record.gate_json(gate))
    return tmp_path / "kept"


def test_a_folder_is_printed_as_markdown_or_json(type_words, kept):
    code, out, _ = type_words("report", "comment", kept)
    assert code == 0
    assert "REGRESSION: `cartpole_baseline`" in out
    assert json.loads(type_words("report", "comment", kept, "--json")[1]) == {"markdown": out}


def test_of_a_gate_that_passed_the_list_is_all_there_is_and_not_more(type_words, kept):
    row = gate_record.GateRow(recipe="train", exit_code=0, left_out="nothing changed")
    gate = gate_record.GateRecord(exit_code=0, recipes=(row,))
    (kept / "gate.json").write_text(gate_record.gate_json(gate))
    assert "<summary>1 in all</summary>" in type_words("report", "comment", kept)[1]


def test_a_folder_without_answers_is_exit_code_4_and_a_torn_one_2(type_words, kept):
    (kept / "gate.json").write_text("{")
    assert type_words("report", "comment", kept)[0] == 2
    (kept / "gate.json").unlink()
    code, out, err = type_words("report", "comment", kept)
    assert (code, out) == (4, "")
    assert "did not come to its end" in err


def test_either_a_place_or_an_event_is_named(type_words, kept):
    event = kept / "gate.json"
    assert type_words("report", "comment")[0] == 2
    assert type_words("report", "comment", kept, "--workflow-run", event)[0] == 2


def test_without_a_token_it_is_wrong_usage(type_words, tmp_path, monkeypatch):
    monkeypatch.delenv("GITHUB_TOKEN", raising=False)
    run = {"id": 1, "event": "pull_request", "conclusion": "success", "head_sha": "a" * 40}
    event = tmp_path / "event.json"
    event.write_text(json.dumps({"repository": {"full_name": "o/r"}, "workflow_run": run}))
    code, _, err = type_words("report", "comment", "--workflow-run", event)
    assert code == 2
    assert "GITHUB_TOKEN is not set" in err


def test_verify_writes_its_answers_whatever_they_are(type_words, tmp_path, monkeypatch):
    (tmp_path / "recipes" / "broken").mkdir(parents=True)
    (tmp_path / "recipes" / "broken" / "recipe.yaml").write_text("schema: 1\nname: [\n")
    monkeypatch.chdir(tmp_path)
    assert type_words("verify", "--gate-file", "gate.json", "--html", "pages/gate.html")[0] == 2
    page = Path("pages/gate.html").read_text()
    assert "0 of 1 passed" in page
    assert "broken" in page
    [row] = gate_record.read_gate(Path("gate.json").read_bytes()).recipes
    assert (row.recipe, row.exit_code, row.verdict) == ("broken", 2, None)
    assert "recipe.yaml" in row.error


def test_a_gate_file_from_where_no_report_can_be_named_is_refused_and_left(type_words, tmp_path, monkeypatch):
    (tmp_path / "recipes").mkdir()
    elsewhere = tmp_path / "elsewhere" / "gate.json"
    elsewhere.parent.mkdir()
    elsewhere.write_text("x")
    monkeypatch.chdir(tmp_path)
    code, _, err = type_words("verify", "--gate-file", elsewhere)
    assert code == 2
    assert "not below" in err
    assert elsewhere.read_text() == "x"


def test_a_call_that_ends_before_it_begins_leaves_no_answers_of_an_earlier_gate(
    type_words, tmp_path, monkeypatch
):
    (tmp_path / "recipes").mkdir()
    (tmp_path / "gate.json").write_text("of a gate that passed")
    monkeypatch.chdir(tmp_path)
    code, _, err = type_words("verify", "--sign", "no-such-key", "--gate-file", "gate.json")
    assert code == 2
    assert "no such key" in err
    assert not (tmp_path / "gate.json").exists()


def test_a_gate_file_that_is_a_link_is_judged_by_where_the_link_lies(type_words, tmp_path, monkeypatch):
    (tmp_path / "recipes").mkdir()
    (tmp_path / "link").mkdir()
    (tmp_path / "link" / "gate.json").symlink_to(tmp_path / "gate.json")
    monkeypatch.chdir(tmp_path)
    code, _, err = type_words("verify", "--gate-file", "link/gate.json")
    assert code == 2
    assert "not below" in err


def test_cpus_have_no_gate_file(type_words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert type_words("verify", "--cpu", "Haswell", "--gate-file", "gate.json")[0] == 2
