"""``same_under`` with ``as: rounding``: a claim that only rounds passes, one that does more fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from reprokit import recipes
from reprokit.core.checklist import Status, Verdict
from reprokit.errors import RecipeError
from reprokit.features.compare.rounding import evidence, of_pair
from reprokit.harness import Request, reproduce
from reprokit.harness.audit import audit
from reprokit.harness.judging import rounding_of_pair
from reprokit.harness.running.environments import shared_places
from reprokit.project import Project
from reprokit.session import Session
from support.command_recipe import RECIPE, Repository
from support.recorded_progress import RecordedProgress

#: What the hook does to a program of PyTorch, this one does itself: noise of a twin, the rate of the control.
PROGRAM = """\
import argparse, json, os, random
parser = argparse.ArgumentParser()
parser.add_argument("seed", type=int)
parser.add_argument("out")
parser.add_argument("--off", type=float, default=0.0)
parser.add_argument("--rate", type=float, default=0.1)
parser.add_argument("--break", dest="broken", action="store_true")
asked = parser.parse_args()
random.seed(asked.seed)
kind, *parts = os.environ.get("REPROKIT_TWIN", "none").split(":")
told = dict(part.split("=") for part in parts)
noise = random.Random(int(told.get("seed", 0)))
if asked.broken:
    raise SystemExit("broken")
with open(f"{asked.out}/log.jsonl", "w") as log:
    value = 1.0 + random.random()
    for step in range(20):
        value *= 1 - float(told.get("rate", 1)) * asked.rate
        off = noise.uniform(-1, 1) * 1e-7 if kind in ("updates", "modules") else 0.0
        log.write(json.dumps({"step": step, "loss": value * (1 + off + asked.off * (step % 3 - 1))}) + "\\n")
"""
ROUNDS = '{args: "--off 8e-8", as: rounding}'
MORE = '{args: "--rate 0.1001", as: rounding}'


@pytest.fixture(autouse=True)
def _twins_are_taken_for_what_they_are(monkeypatch):
    """What the hook notes of a twin is tested with the hook."""
    monkeypatch.setattr(evidence, "_must_be_of_kind", lambda *_, **__: None)
    monkeypatch.setattr(evidence, "rounded_of", lambda folder: (1, 2.0**-23))
    monkeypatch.setattr(of_pair, "updates_of", lambda folder: 20)


@pytest.fixture
def repository(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(shared_places, "_memory_since", lambda _since: ())
    found = Repository(tmp_path)
    found.git("init", "--quiet", "--initial-branch", "main")
    (tmp_path / ".gitignore").write_text("runs/\nreports/\n")
    return found


def judged(repository, *claims):
    said = f"same_under: [{', '.join(claims)}]\n"
    repository.write(train_py=PROGRAM, recipes__train__recipe_yaml=RECIPE + said)
    request = Request(backend="local", side_by_side=False, same_under=True)
    session = Session(project=Project.around(repository.root), progress=RecordedProgress())
    report, folder = reproduce("train", request, session=session)
    own = [row for row in report.checks if row.id.startswith("same_under/")]
    return {row.id.removeprefix("same_under/"): row for row in own}, report, folder


@pytest.mark.slow
def test_what_only_rounds_passes_and_what_does_more_fails_with_its_place(repository):
    rows, report, folder = judged(repository, ROUNDS, MORE)
    passed, failed = rows["args --off 8e-8"], rows["args --rate 0.1001"]
    assert passed.status is Status.PASSED
    assert passed.reason.startswith("with it the numbers move as rounding does: by at most ")
    assert "11 twins of the first run" in passed.reason
    assert "but for rounding" in passed.title
    assert failed.status is Status.FAILED
    assert "by more than rounding: loss from step 0 on" in failed.reason
    assert report.verdict is not Verdict.REPRODUCED
    assert audit(folder / "report.json", project=Project.around(repository.root)).findings == ()


def test_without_as_rounding_the_same_difference_fails(repository):
    rows, _, _ = judged(repository, ROUNDS.replace(", as: rounding", ""))
    (row,) = rows.values()
    assert (row.status, "with it the run differs" in row.reason) == (Status.FAILED, True)
    assert not [one for one in (repository.root / "runs" / "train").iterdir() if "varied" in one.name]


def test_what_changes_nothing_passes_without_a_twin(repository):
    rows, _, _ = judged(repository, '{args: "--off 0", as: rounding}')
    (row,) = rows.values()
    assert (row.status, "unchanged" in row.reason) == (Status.PASSED, True)
    assert "rounding" not in row.evidence


@pytest.mark.slow
def test_a_run_that_does_not_finish_fails_whatever_is_allowed(repository):
    rows, _, _ = judged(repository, '{args: "--break", as: rounding}')
    (row,) = rows.values()
    assert (row.status, "does not finish" in row.reason) == (Status.FAILED, True)


@pytest.mark.slow
def test_a_program_without_twins_is_no_pass(repository, monkeypatch):
    monkeypatch.setattr(of_pair, "updates_of", lambda folder: 0)
    rows, report, folder = judged(repository, ROUNDS)
    (row,) = rows.values()
    assert (row.status, row.required) == (Status.ERROR, True)
    assert "not known: no twin can be made" in row.reason
    assert report.exit_code == 4
    assert audit(folder / "report.json", project=Project.around(repository.root)).findings == ()


def test_without_the_feature_nothing_is_called_rounding(repository, monkeypatch):
    monkeypatch.setattr(rounding_of_pair, "offered", lambda name: None)
    rows, _, _ = judged(repository, ROUNDS)
    (row,) = rows.values()
    assert (row.status, "nothing that is installed" in row.reason) == (Status.ERROR, True)


@pytest.mark.slow
def test_a_report_whose_twins_were_exchanged_does_not_stand(repository, monkeypatch):
    rows, _, folder = judged(repository, ROUNDS)
    (judgement,) = rows["args --off 8e-8"].evidence["rounding"].values()
    twin = Path(judgement["runs"]["twins"][0])
    log = twin / "metrics.jsonl"
    log.chmod(0o644)
    log.write_text(log.read_text().replace("1.", "2."))
    assert audit(folder / "report.json", project=Project.around(repository.root)).findings


def test_the_word_changes_no_digest_and_names_no_second_thing(repository):
    repository.write(train_py=PROGRAM, recipes__train__recipe_yaml=RECIPE)
    before = recipes.load("train", recipes_dir=repository.root / "recipes")
    repository.write(recipes__train__recipe_yaml=f"{RECIPE}same_under: [{ROUNDS}]\n")
    after = recipes.load("train", recipes_dir=repository.root / "recipes")
    assert (before.digest, after.same_under[0]["as"]) == (after.digest, "rounding")
    for claims in (f"{ROUNDS}, {ROUNDS.replace(', as: rounding', '')}", '{args: "--off 1", as: equal}'):
        repository.write(recipes__train__recipe_yaml=f"{RECIPE}same_under: [{claims}]\n")
        with pytest.raises(RecipeError):
            recipes.load("train", recipes_dir=repository.root / "recipes")
