"""``verify --rounding``: STALE_GOLDEN with what twins say beside it, in the report and the next golden."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from reprokit.core.checklist import Verdict
from reprokit.errors import CannotJudgeError, GoldenError
from reprokit.features.compare.rounding import evidence, of_golden, of_pair
from reprokit.features.compare.rounding.of_golden import rounding_again
from reprokit.golden import Promotion, load
from reprokit.harness import Request, reproduce
from reprokit.harness.audit import audit
from reprokit.harness.curation import promote_stale
from reprokit.harness.judging.compared_with.watched_golden import golden_to_watch
from reprokit.harness.running import start_runs
from reprokit.project import Project
from reprokit.reports import documents
from reprokit.reports.formats import to_json
from reprokit.reports.terminal.terminal_style import Style
from reprokit.reports.terminal.to_terminal import to_terminal
from reprokit.session import Session
from support.harness_fixtures import inside, repository
from support.recorded_progress import RecordedProgress

__all__ = ["inside", "repository"]

#: What the hook does to a program of PyTorch, this one does itself: noise of a twin, the rate of the control.
PROGRAM = """\
import json, os, random, sys
from settings import RATE
random.seed(int(sys.argv[1]))
kind, *parts = os.environ.get("REPROKIT_TWIN", "none").split(":")
told = dict(part.split("=") for part in parts)
noise = random.Random(int(told.get("seed", 0)))
rate = float(told.get("rate", 1)) * {rate}
with open(f"{sys.argv[2]}/log.jsonl", "w") as log:
    value = 1.0 + random.random()
    for step in range(20):
        value *= 1 - rate * RATE * 0.1
        off = noise.uniform(-1, 1) * 1e-7 if kind in ("updates", "modules") else 0.0
        log.write(json.dumps({"step": step, "loss": value * (1 + off + {moved} * (step % 3 - 1))}) + "\\n")
"""
MOVED = "float(open(LIBRARY).read())"


@pytest.fixture(autouse=True)
def _twins_are_taken_for_what_they_are(monkeypatch):
    """What the hook notes of a twin is tested with the hook."""
    monkeypatch.setattr(evidence, "_must_be_of_kind", lambda *_, **__: None)
    monkeypatch.setattr(evidence, "rounded_of", lambda folder: (1, 2.0**-23))
    monkeypatch.setattr(of_pair, "updates_of", lambda folder: 20)


@pytest.fixture
def moved(repository, monkeypatch, inside, tmp_path):
    """A golden, and then a library of another version that moves every number by so much."""

    def move(by: str, *, rate: str = "1", code: str = ""):
        library = tmp_path / "library"
        library.write_text("0.0")
        text = PROGRAM.replace("{moved}", MOVED).replace("LIBRARY", repr(str(library)))
        text = text.replace("{rate}", f"(1 + ({rate} - 1) * (float(open({str(library)!r}).read()) != 0))")
        repository.write(train_py=text)
        repository.promote(repository.reproduce())
        library.write_text(by)
        if code:
            repository.write(train_py=text + code)
        there = {**inside, "device": {"kind": "cpu"}}
        there["packages"] = {**inside["packages"], "numpy": "99.1"}
        monkeypatch.setattr(start_runs, "inside_of", lambda spec, *, backend: there)
        return repository

    return move


def judged(repository, **asked):
    request = Request(backend="local", side_by_side=False, rounding=True, **asked)
    session = Session(project=Project.around(repository.root), progress=RecordedProgress())
    return reproduce("train", request, session=session)


def test_an_environment_that_only_rounds_stays_stale_and_says_so(moved):
    repository = moved("8e-8")
    report, folder = judged(repository)
    assert (report.verdict, report.exit_code) == (Verdict.STALE_GOLDEN, 4)
    told = report.rounding
    assert (told["answer"], told["twins_of"]) == ("rounding", "today")
    assert len(told["runs"]["twins"]) == 8
    assert told["sentence"].startswith("The environment moves the numbers as rounding does: by at most ")
    assert "Twins are of today's side: nothing pins the golden's environment" in told["sentence"]
    assert json.loads((folder / "report.json").read_text())["rounding"]["sentence"] == told["sentence"]
    for name in ("report.md", "report.html"):
        assert "moves the numbers as rounding does" in (folder / name).read_text()
    assert "as rounding does" in " ".join(to_terminal(report, style=Style(width=80)).split())
    assert audit(folder / "report.json", project=Project.around(repository.root)).findings == ()


def test_an_environment_that_changed_a_default_does_more_than_rounding(moved):
    report, _ = judged(moved("1e-300", rate="1.0001"))
    assert (report.verdict, report.rounding["answer"]) == (Verdict.STALE_GOLDEN, "different")
    first = report.rounding["first"]
    assert (first["metric"], first["record"]) == ("loss", 1)
    assert "by more than rounding: loss from step 1 on" in report.rounding["sentence"]


def test_changed_code_in_a_changed_environment_is_never_rounding(moved):
    report, folder = judged(moved("8e-8", code="# changed\n"))
    assert report.verdict is Verdict.STALE_GOLDEN
    assert (report.rounding["answer"], report.rounding["runs"]) == ("different", None)
    assert "which is never rounding" in report.rounding["sentence"]
    assert not list(Path(report.runs[0]).parent.glob("*-varied*"))
    assert audit(folder / "report.json", project=Project.around(folder.parents[2])).findings == ()


@pytest.mark.slow
def test_a_judge_that_asks_of_the_code_no_more_is_broken(moved, monkeypatch):
    monkeypatch.setattr(of_golden, "_code_changed", lambda *_: False)
    report, _ = judged(moved("8e-8", code="# changed\n"))
    assert report.rounding["answer"] == "rounding", "the test above would not see that judge"


def test_without_the_question_nothing_is_made_and_reports_stay_what_they_were(moved):
    repository = moved("8e-8")
    report, folder = repository.reproduced()
    assert (report.verdict, report.rounding) == (Verdict.STALE_GOLDEN, None)
    assert "rounding" not in json.loads((folder / "report.json").read_text())


def test_runs_go_to_their_end_where_others_are_compared_with_them(moved, monkeypatch):
    repository = moved("8e-8")
    recipe = type("Recipe", (), {"traces": True, "seeds": (3,), "name": "train"})
    golden_dir = repository.root / "golden"
    assert golden_to_watch(recipe, Request(), golden_dir=golden_dir) is not None
    for asked in ({"rounding": True}, {"same_under": True}):
        assert golden_to_watch(recipe, Request(**asked), golden_dir=golden_dir) is None


@pytest.mark.sample(1)
@pytest.mark.parametrize("what", ["answer", "twin", "gone"])
def test_a_report_whose_evidence_says_something_else_does_not_stand(moved, what):
    repository = moved("1e-300", rate="1.0001")
    report, folder = judged(repository)
    twin = Path(report.rounding["runs"]["short"][1])
    if what == "answer":
        forged = replace(report, rounding={**report.rounding, "answer": "rounding"})
        for name, text in documents(forged).items():
            (folder / name).write_text(text)
    elif what == "twin":
        (twin / "COMPLETE").write_text((twin / "COMPLETE").read_text() + " ")
    else:
        twin.rename(twin.with_name("elsewhere"))
    found = audit(folder / "report.json", project=Project.around(repository.root))
    said = {"answer": "rounding differs from", "twin": "was changed after", "gone": "is gone"}[what]
    assert any(said in one for one in found.findings), found.findings


def promoted(repository):
    promotion = Promotion(reason="numpy 99.1", created_at="2026-02-02T00:00:00+00:00")
    return promote_stale(Project.around(repository.root), promotion=promotion)


def test_the_evidence_is_written_into_the_provenance_of_the_next_golden(moved):
    repository = moved("8e-8")
    report, _ = judged(repository)
    promoted(repository)
    kept = load(Path(report.golden)).document["rounding"]
    assert (kept["answer"], kept["twins_of"], kept["num_twins"]) == ("rounding", "today", 11)
    assert kept["metrics"]["loss"]["finding"] == "rounding"
    assert str(repository.root) not in json.dumps(kept)


@pytest.mark.slow
def test_evidence_that_does_not_follow_from_its_runs_is_not_written(moved):
    repository = moved("1e-300", rate="1.0001")
    report, folder = judged(repository)
    forged = replace(report, rounding={**report.rounding, "answer": "rounding"})
    (folder / "report.json").write_text(to_json.to_json(forged))
    with pytest.raises(GoldenError, match="does not follow from its runs"):
        promoted(repository)


@pytest.mark.slow
def test_twins_stand_for_the_golden_only_where_their_untouched_run_has_its_numbers(moved):
    repository = moved("8e-8")
    report, _ = judged(repository)
    other = {**report.rounding, "twins_of": "golden", "centre": report.rounding["runs"]["twins"][0]}
    told = rounding_again(replace(report, rounding=other))
    assert told["answer"] == "unjudged"
    assert "do not give its numbers here" in told["why"]


@pytest.mark.slow
def test_the_golden_side_is_taken_where_its_commit_gives_the_golden_again(moved, monkeypatch):
    repository = moved("8e-8")
    seen = {}

    @contextmanager
    def again(blessed, today, recipe, request, *, session):
        (run,) = {one for one in Path(today).parent.iterdir() if seen["first"] in one.name}
        yield run, of_golden._makes_today(recipe, request, session=session)

    golden = next((repository.root / "golden").glob("*/*/*"))
    digest = load(golden).provenance.digests["metrics"]
    seen["first"] = next(
        run.name
        for run in sorted((repository.root / "runs" / "train").iterdir())
        if of_golden.adapters.compare(golden / "metrics.jsonl", run / "metrics.jsonl").identical
    )
    assert digest
    monkeypatch.setattr(of_golden, "_golden_again", again)
    report, _ = judged(repository)
    assert report.rounding["twins_of"] == "golden"
    assert "twins of the golden" in report.rounding["sentence"]
    assert "today's side" not in report.rounding["sentence"]


def test_why_no_twin_can_be_made_is_said(moved, monkeypatch):
    def refuse(*_, **__):
        raise CannotJudgeError("no twin can be made: the program takes no step")

    monkeypatch.setattr(of_pair, "make_twins", refuse)
    report, folder = judged(moved("8e-8"))
    assert (report.rounding["answer"], report.rounding["runs"]) == ("unjudged", None)
    assert "no twin can be made" in report.rounding["sentence"]
    assert audit(folder / "report.json", project=Project.around(folder.parents[2])).findings == ()
