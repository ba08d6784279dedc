"""`reprokit demo`: the verdict and the cause of the recorded runs, and how a planted fault is looked for."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from reprokit import cli, extras, runs
from reprokit.errors import CannotJudgeError
from reprokit.features.demo import recorded, trained, verb
from reprokit.runs import writing
from support.without import answers

FOLDER = Path(recorded.__file__).parent
LINE = next(
    number
    for number, line in enumerate((FOLDER / "programs/fit.py").read_text().splitlines(), start=1)
    if "random.shuffle" in line
)


@pytest.fixture(autouse=True)
def empty(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    return tmp_path


def demo(*words: str):
    return CliRunner().invoke(cli.root, ["demo", *words], standalone_mode=False)


def test_it_shows_a_verdict_and_a_line_and_leaves_nothing_behind(empty):
    done = demo()
    assert (done.exception, done.return_value) == (None, 0)
    assert "verdict: NONDETERMINISTIC (exit code 1)" in done.stdout
    assert f"cause: unseeded_rng at fit.py:{LINE}" in done.stdout
    assert list(empty.iterdir()) == []


def test_the_verdict_is_judged_when_it_is_shown(tmp_path, monkeypatch):
    shutil.copytree(FOLDER / "recorded", tmp_path / "recorded")
    monkeypatch.setattr(recorded, "_DATA", tmp_path / "recorded")
    first, other = sorted((tmp_path / "recorded/runs/plain-fit").iterdir())
    assert recorded.report().verdict == "NONDETERMINISTIC"
    shutil.copyfile(first / "metrics.jsonl", other / "metrics.jsonl")
    (other / "COMPLETE").unlink()
    writing._write_marker(other)
    assert recorded.report().verdict == "REPEATABLE"


def test_the_recorded_runs_are_whole_and_name_no_machine():
    folders = sorted(FOLDER.glob("recorded/runs/*/*"))
    assert len(folders) == 2
    for folder in folders:
        assert runs.read(folder).complete
    texts = [path.read_text() for path in FOLDER.glob("recorded/**/*") if path.is_file()]
    assert [
        text for text in texts if re.search(r'"/|/(home|tmp|root|work)/', text.replace('"/proc', ""))
    ] == []
    assert sum(map(len, texts)) < 60_000


def test_its_json_has_both_answers():
    answer = json.loads(demo("--json").stdout)
    assert answer["report"]["verdict"] == answer["diagnosis"]["verdict"] == "NONDETERMINISTIC"
    assert answer["diagnosis"]["cause"]["line"] == LINE


def test_the_pages_are_written_where_they_are_asked_for(tmp_path):
    done = demo("--pages", "pages")
    assert "pages/report.html" in done.stdout
    assert "pages/diagnosis.html" in done.stdout
    assert "random.shuffle(points)" in (tmp_path / "pages/diagnosis.html").read_text()
    assert "NONDETERMINISTIC" in (tmp_path / "pages/report.html").read_text()


def test_without_any_extra_it_shows_the_same_and_names_no_page():
    ((code, out, err),) = answers(",".join(extras.EXTRAS), [["demo"]])
    assert (code, err) == (0, "")
    assert f"cause: unseeded_rng at fit.py:{LINE}" in out
    assert "Page" not in out


@pytest.fixture
def begun(tmp_path):
    """The trained program's folder, which `_find_the_fault` makes."""
    return tmp_path / "trained"


def answering(monkeypatch, *, codes: tuple[int, int], line: int | None) -> None:
    """Both verbs end with these codes, and diagnose names this line."""
    left = list(codes)

    def run(words: list[str]) -> int:
        folder = Path("reports/plain-train/one")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "diagnosis.json").write_text(json.dumps({"cause": line and {"line": line}}))
        return left.pop(0)

    monkeypatch.setattr(verb, "_run", run)
    monkeypatch.setattr("click.prompt", lambda *_, **__: "")


def test_the_planted_line_is_found(begun, monkeypatch, capsys):
    answering(monkeypatch, codes=(1, 1), line=trained.planted_line())
    assert verb._find_the_fault(begun) == 0
    assert (
        f"Found: the planted fault is in line {trained.planted_line()} of train.py."
        in capsys.readouterr().out
    )


@pytest.mark.parametrize("line", [1, None])
def test_another_line_is_no_success(begun, monkeypatch, line):
    answering(monkeypatch, codes=(1, 1), line=line)
    with pytest.raises(CannotJudgeError, match="not found"):
        verb._find_the_fault(begun)


@pytest.mark.parametrize(("codes", "code"), [((0, 1), 4), ((1, 0), 4), ((3, 1), 3)])
def test_a_program_that_does_not_run_or_does_not_differ_is_no_success(begun, monkeypatch, codes, code):
    answering(monkeypatch, codes=codes, line=trained.planted_line())
    assert verb._find_the_fault(begun) == code
