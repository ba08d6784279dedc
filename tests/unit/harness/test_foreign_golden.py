"""A published log as a golden: never REPRODUCED within its tolerance, never REGRESSION beyond it."""

from __future__ import annotations

import json
import math
import subprocess
from pathlib import Path

import pytest

from reprokit import golden
from reprokit.core.checklist import Verdict
from reprokit.core.tolerance import Tolerance
from reprokit.errors import GoldenError, MetricsError, UsageError
from reprokit.golden import Promotion
from reprokit.harness import Request, reproduce
from reprokit.harness.curation import PublishedLog, import_log, lint_goldens, promote
from reprokit.harness.running import start_runs
from reprokit.project import Project
from reprokit.reports import documents
from reprokit.reports.formats import to_json
from reprokit.session import Session
from support.command_recipe import RECIPE
from tests.support.recorded_progress import RecordedProgress

PROGRAM = """\
import random, sys
random.seed(int(sys.argv[1]))
with open(f"{sys.argv[2]}/log.csv", "w") as log:
    log.write("step,loss,accuracy\\n")
    for step in range(0, 60, 10):
        log.write(f"{step},{1 / (step + 1)},{step / 100}\\n")
"""
NOW = "2026-01-01T00:00:00+00:00"
#: What the program computes at two of its steps, as a paper would print it.
PUBLISHED = "step,Loss\n10,0.091\n50,0.0196\n"


@pytest.fixture
def project(tmp_path, monkeypatch, inside):
    monkeypatch.setattr(
        start_runs, "inside_of", lambda spec, *, backend: {**inside, "device": {"kind": "cpu"}}
    )
    root = tmp_path / "theirs"
    (root / "recipes" / "train").mkdir(parents=True)
    (root / "recipes" / "train" / "recipe.yaml").write_text(RECIPE)
    (root / "train.py").write_text(PROGRAM)
    (root / ".gitignore").write_text("runs/\nreports/\n")
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    for words in (["init", "-q"], ["add", "-A"], [*identity, "commit", "-qm", "first"]):
        subprocess.run(["git", *words], cwd=root, check=True)
    return Project.around(root)


def published(project, text, name="published.csv"):
    path = project.root.parent / name
    path.write_text(text)
    return path


def imported(project, text=PUBLISHED, *, rtol=0.01, renamed=None, metrics=()):
    renamed = {"Loss": "loss"} if renamed is None else renamed
    return import_log(
        PublishedLog(path=published(project, text), metrics=metrics, renamed=renamed),
        recipe="train",
        project=project,
        seed=None,
        platform="cpu-x86_64",
        tolerance=Tolerance(rtol=rtol),
        promotion=Promotion(reason="table 2 of someone's paper", created_at=NOW),
    )


def judged(project, **asked):
    request = Request(backend="local", side_by_side=False, seed=3, **asked)
    report = reproduce("train", request, session=Session(project=project, progress=RecordedProgress()))[0]
    documents(report)
    assert to_json.from_json(to_json.to_json(report)).verdict == report.verdict
    return report


def row(report, name):
    return next(row for row in report.checks if row.id == name)


def test_a_match_is_within_the_tolerance_of_a_foreign_log_and_not_reproduced(project):
    made = imported(project)
    report = judged(project)
    assert (report.verdict, report.exit_code) == (Verdict.REPEATABLE, 0)
    assert "within the declared tolerance of a foreign log" in report.sentence
    assert "REPRODUCED" not in to_json.to_json(report)
    found = row(report, "equals_golden")
    assert found.status == "PASSED"
    assert (found.evidence["records"], found.evidence["metrics"], found.evidence["foreign"]) == (2, 1, True)
    assert not row(report, "environment_compatible").required
    assert (made.provenance.runs_agreed, made.provenance.fingerprint) == (0, "")


def test_a_mismatch_is_unjudged_with_the_numbers_and_no_regression(project):
    imported(project, "step,Loss\n10,0.091\n50,0.03\n")
    report = judged(project)
    assert (report.verdict, report.exit_code) == (Verdict.UNJUDGED, 4)
    assert "from step 50 on: loss is 0.0196" in report.sentence
    assert "expected 0.03" in report.sentence
    assert "REGRESSION" not in to_json.to_json(report)
    assert row(report, "equals_golden").status == "ERROR"
    assert report.divergence.metric == "loss"
    assert report.nearby == (), "a log of others is compared by its steps"


@pytest.mark.parametrize(
    ("text", "renamed"),
    [
        (PUBLISHED, {}),  # the runs have no metric of that name
        ("step,Loss\n10,0.091\n55,0.0196\n", None),  # nor of that step
        ("step,Loss\n10,0.091\n10,0.091\n", None),  # nor twice at it
        ("step,Loss\n10,nan\n", None),
    ],
)
def test_what_the_run_does_not_have_is_no_match(project, text, renamed):
    imported(project, text, renamed=renamed)
    assert judged(project).verdict == Verdict.UNJUDGED


def test_at_tolerance_zero_every_bit_counts_and_it_still_is_not_reproduced(project):
    imported(project, f"step,Loss\n10,{1 / 11!r}\n", rtol=0.0)
    assert judged(project).verdict == Verdict.REPEATABLE
    (project.golden_dir / "train" / "cpu-x86_64" / "seed-3").rename(project.root / "away")
    imported(project, f"step,Loss\n10,{math.nextafter(1 / 11, 1)!r}\n", rtol=0.0)
    assert judged(project).verdict == Verdict.UNJUDGED


def test_runs_that_differ_are_nondeterministic_whatever_the_log_says(project):
    (project.root / "train.py").write_text(
        PROGRAM.replace("seed(int(sys.argv[1]))", "seed()").replace("1 / (", "random.random() / (")
    )
    imported(project, rtol=1e9)
    assert judged(project).verdict == Verdict.NONDETERMINISTIC


def test_a_required_row_that_fails_still_counts(project):
    text = (project.root / "recipes" / "train" / "recipe.yaml").read_text()
    (project.root / "recipes" / "train" / "recipe.yaml").write_text(
        f"{text}expected: {{loss: {{value: 9, atol: 0.1}}}}\n"
    )
    imported(project)
    assert judged(project).verdict == Verdict.CHECK_FAILED


def test_the_recipes_own_tolerance_does_not_widen_the_declared_one(project):
    file = project.root / "recipes" / "train" / "recipe.yaml"
    file.write_text(f"{RECIPE}tolerances: {{default: {{rtol: 0.9}}}}\n")
    imported(project, "step,Loss\n10,0.1\n", rtol=0.01)
    assert judged(project).verdict == Verdict.UNJUDGED


def test_it_is_listed_linted_and_never_overwritten(project):
    made = imported(project)
    (listed,) = golden.list_all(project.golden_dir)
    assert (listed.foreign, listed.problem, listed.runs_agreed) == (True, "", 0)
    assert lint_goldens(project, min_runs=2) == []
    with pytest.raises(GoldenError, match="there is a golden"):
        imported(project)
    assert json.loads((made.path / "metrics.jsonl").read_text().splitlines()[0]) == {
        "step": 10,
        "loss": 0.091,
    }
    (made.path / "metrics.jsonl").write_text('{"step": 10, "loss": 0.5}\n')
    with pytest.raises(GoldenError, match="differs from the one"):
        golden.load(made.path)


def test_ones_own_runs_may_take_its_place(project):
    file = project.root / "recipes" / "train" / "recipe.yaml"
    file.write_text(f"{RECIPE}unresponsive: {{because: it computes 1/n}}\n")
    imported(project)
    report = judged(project)
    folders = [Path(run) for run in report.runs]
    promote(folders, project=project, promotion=Promotion(reason="our own", created_at=NOW, allow_dirty=True))
    assert judged(project).verdict == Verdict.REPRODUCED


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "empty"),
        ("step,Loss\n1,x\n", "no number"),
        ("epochs,Loss\n1,0.5\n", "has no step"),
        ("step,Loss\n1,0.5\n2\n", "cells"),
        ("step,Loss\n1,1e400\n", "too large"),
    ],
)
def test_a_log_that_cannot_be_held_is_refused(project, text, word):
    with pytest.raises(MetricsError, match=word):
        imported(project, text, renamed={})
    assert not golden.list_all(project.golden_dir)


def test_two_metrics_never_become_one(project):
    with pytest.raises(MetricsError, match="one name"):
        imported(project, "step,Loss,loss\n10,0.5,0.091\n")
    imported(project, "step,Loss,loss\n10,0.091,0.5\n", metrics=("Loss",))


def test_a_metric_that_was_named_must_be_there(project):
    with pytest.raises(MetricsError, match="'Accuracy'"):
        imported(project, metrics=("Accuracy",))


@pytest.mark.parametrize("asked", [{"seed": 4}, {"platform": "tpu-v4"}, {"reason": " "}])
def test_the_recipe_must_have_such_runs(project, asked):
    words = {"seed": 3, "platform": "cpu-x86_64", "reason": "a paper", **asked}
    reason = words.pop("reason")
    with pytest.raises((UsageError, GoldenError)):
        import_log(
            PublishedLog(path=published(project, PUBLISHED)),
            recipe="train",
            project=project,
            tolerance=Tolerance(rtol=0.1),
            promotion=Promotion(reason=reason, created_at=NOW),
            **words,
        )
    assert not golden.list_all(project.golden_dir)
