"""Whose fault a mismatch is: the rule for every outcome, and the cells from a real history.

The history, the recipe and the golden are real; in place of a training, the metrics are written from
the two things that the cells move: the recipe's gamma and the lock.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from reprokit import golden, recipes
from reprokit.golden import Promotion
from reprokit.harness import Project, Request
from reprokit.harness.attribution import four_cells, worktree_run
from reprokit.harness.attribution.four_cells import (
    DIFFERS,
    EQUAL,
    NOT_RUN,
    NOW_NOW,
    NOW_THEN,
    THEN_NOW,
    THEN_THEN,
    attribute,
    blame,
)
from reprokit.harness.attribution.worktree_run import WorktreeRun
from reprokit.session import Session

ROOT = Path(__file__).resolve().parents[4]
NAME = "cartpole_baseline"


def answer(before: str, moved: str, rebuilt: str, machine: str = "") -> str:
    results = {THEN_THEN: before, THEN_NOW: moved, NOW_THEN: rebuilt, NOW_NOW: DIFFERS}
    return blame(results, machine=machine)[0]


def test_where_only_the_code_moves_the_numbers_it_is_the_code():
    assert answer(EQUAL, EQUAL, DIFFERS) == "code"


def test_where_only_the_environment_moves_the_numbers_it_is_the_environment():
    assert answer(EQUAL, DIFFERS, EQUAL) == "environment"


def test_where_each_moves_the_numbers_it_is_both():
    assert answer(EQUAL, DIFFERS, DIFFERS) == "both"


def test_where_only_both_together_move_the_numbers_it_is_both():
    assert answer(EQUAL, EQUAL, EQUAL) == "both"


@pytest.mark.parametrize(("moved", "rebuilt"), list(itertools.product([EQUAL, DIFFERS, NOT_RUN], repeat=2)))
def test_where_the_goldens_own_commit_and_lock_do_not_give_it_nothing_else_is_blamed(moved, rebuilt):
    assert answer(DIFFERS, moved, rebuilt) == "golden"
    assert answer(DIFFERS, moved, rebuilt, machine="libc was 2.36, is 2.40") == "environment"


@pytest.mark.parametrize(
    ("before", "moved", "rebuilt", "expected"),
    [
        (NOT_RUN, EQUAL, NOT_RUN, "code"),
        (NOT_RUN, NOT_RUN, EQUAL, "environment"),
        (EQUAL, DIFFERS, NOT_RUN, "environment"),
        (EQUAL, NOT_RUN, DIFFERS, "code"),
        (NOT_RUN, DIFFERS, DIFFERS, "undecided"),
        (NOT_RUN, DIFFERS, NOT_RUN, "undecided"),
        (NOT_RUN, NOT_RUN, DIFFERS, "undecided"),
        (EQUAL, NOT_RUN, NOT_RUN, "undecided"),
        (NOT_RUN, NOT_RUN, NOT_RUN, "undecided"),
    ],
)
def test_what_could_not_be_run_is_never_taken_for_an_answer(before, moved, rebuilt, expected):
    assert answer(before, moved, rebuilt) == expected


@dataclass(slots=True)
class Trainer:
    """Writes what a training would: numbers that follow from gamma and the lock of the tree it runs in."""

    runs: list[tuple[str, str]] = field(default_factory=list)
    broken: str = ""
    another: dict[str, str] = field(default_factory=dict)

    def __call__(self, root: Path, name: str, *, runs_dir: Path, **_: Any) -> WorktreeRun:
        gamma, lock = facts_of(root)
        self.runs.append((gamma, lock))
        if lock == self.broken:
            return WorktreeRun(why="no such package")
        folder = runs_dir / name / "run"
        write_run(folder, gamma, lock, digests={**digests_of(root), **self.another})
        return WorktreeRun(folder=folder)


def digests_of(root: Path) -> dict[str, str]:
    """What a run of a tree stands on; its lock and its runtime stay what they were."""
    alike = dict.fromkeys(("trainer", "runtime", "config", "lock"), f"sha256:{'a' * 64}")
    return {**alike, "recipe": recipes.load(NAME, recipes_dir=root / "recipes").digest}


def facts_of(root: Path) -> tuple[str, str]:
    recipe = (root / "recipes" / NAME / "recipe.yaml").read_text()
    lock = (root / "images" / "cpu" / "requirements.lock").read_text()
    found = re.search(r"gamma: ([\d.]+)", recipe)
    assert found is not None
    return found[1], (re.findall(r"# lock (\w+)", lock) or ["first"])[0]


def write_run(folder: Path, gamma: str, lock: str, *, digests: dict[str, str] | None = None) -> None:
    folder.mkdir(parents=True)
    (folder / "run.json").write_text(json.dumps({"digests": digests or {}}))
    loss = float(gamma) + {"first": 0.0, "harmless": 0.0}.get(lock, 1.0)
    (folder / "metrics.jsonl").write_text(json.dumps({"step": 1, "loss": loss}) + "\n")
    (folder / "trace.jsonl").write_text("{}\n")
    (folder / "environment.json").write_text(json.dumps({"inside": {}, "host": {}}))


@dataclass(frozen=True, slots=True)
class Study:
    """A project under git, with a golden, and the trainer that stands in."""

    project: Project
    trainer: Trainer
    scratch: Path

    def git(self, *arguments: str) -> None:
        subprocess.run(["git", *arguments], cwd=self.project.root, check=True, capture_output=True)

    def commit(self, message: str) -> None:
        self.git("add", "-A")
        self.git("commit", "-qm", message)

    def gamma(self, value: str) -> None:
        file = self.project.recipes_dir / NAME / "recipe.yaml"
        file.write_text(re.sub(r"gamma: [\d.]+", f"gamma: {value}", file.read_text()))

    def lock(self, name: str) -> None:
        file = self.project.root / "images" / "cpu" / "requirements.lock"
        file.write_text(f"# lock {name}\n" + file.read_text())

    @property
    def recipe(self) -> recipes.Recipe:
        return recipes.load(NAME, recipes_dir=self.project.recipes_dir)

    @property
    def golden(self) -> Path:
        return self.project.golden_dir / NAME / "cpu-x86_64" / "seed-42"

    def attributed(self, progress: Any) -> dict[str, Any]:
        run = self.scratch / "today"
        write_run(run, *facts_of(self.project.root))
        return attribute(
            self.recipe,
            golden_path=self.golden,
            run=run,
            request=Request(backend="local"),
            session=Session(project=self.project, progress=progress),
            keep=self.scratch / "kept",
        )


def blessed(study: Study) -> None:
    """A golden of the recipe as it stands."""
    runs = []
    for number in (1, 2):
        folder = study.scratch / f"blessed-{number}"
        write_run(folder, *facts_of(study.project.root))
        runs.append(
            golden.GoldenCandidate(
                path=folder,
                complete=True,
                recipe=NAME,
                seed=42,
                platform="cpu-x86_64",
                modified=(),
                dirty=False,
                metrics=folder / "metrics.jsonl",
                trace=folder / "trace.jsonl",
                digests=digests_of(study.project.root),
                image={},
                fingerprint="sha256:0",
                fingerprint_facts={},
                environment={"inside": {}, "host": {}},
            )
        )
    golden.promote(
        study.project.golden_dir,
        runs=runs,
        promotion=Promotion(reason="first", created_at="2026-11-20T10:15:00+00:00"),
        tolerances={},
    )


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Study:
    root = tmp_path / "study"
    for name in ("recipes", "images"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    made = Study(Project.around(root), Trainer(), tmp_path / "scratch")
    made.git("init", "-q", "-b", "main")
    made.git("config", "user.email", "a@example.org")
    made.git("config", "user.name", "A")
    blessed(made)
    made.commit("first")
    monkeypatch.setattr(four_cells.worktree_run, "run_at", made.trainer)
    return made


def cells(found: dict[str, Any]) -> dict[tuple[str, str], str]:
    return {(one.code, one.environment): one.result for one in found.cells}


def test_a_changed_gamma_is_the_codes_fault_and_takes_one_run(study, told):
    study.gamma("0.98")
    found = study.attributed(told)
    assert found.answer == "code"
    assert cells(found) == {THEN_THEN: EQUAL, THEN_NOW: EQUAL, NOW_THEN: DIFFERS, NOW_NOW: DIFFERS}
    assert study.trainer.runs == [("0.99", "first")]


def test_a_changed_lock_is_the_environments_fault(study, told):
    study.lock("second")
    found = study.attributed(told)
    assert found.answer == "environment"
    assert cells(found) == {THEN_THEN: EQUAL, THEN_NOW: DIFFERS, NOW_THEN: EQUAL, NOW_NOW: DIFFERS}
    assert study.trainer.runs == [("0.99", "first"), ("0.99", "first"), ("0.99", "second")]


def test_a_lock_that_changes_no_number_leaves_the_code_to_blame(study, told):
    study.lock("harmless")
    study.gamma("0.98")
    found = study.attributed(told)
    assert found.answer == "code"
    assert cells(found)[THEN_NOW] == EQUAL


def test_code_and_lock_that_both_change_the_numbers_are_both_named(study, told):
    study.lock("second")
    study.gamma("0.98")
    assert study.attributed(told).answer == "both"


def test_a_golden_that_its_own_commit_does_not_give_is_not_reproducible(study, told, monkeypatch):
    def unlike(root: Path, name: str, *, runs_dir: Path, **_: Any) -> WorktreeRun:
        write_run(runs_dir / name / "run", "0.5", "first", digests=digests_of(root))
        return WorktreeRun(folder=runs_dir / name / "run")

    monkeypatch.setattr(four_cells.worktree_run, "run_at", unlike)
    study.gamma("0.98")
    assert study.attributed(told).answer == "golden"


@pytest.mark.parametrize("changed", ["runtime", "lock"])
def test_a_golden_is_not_blamed_for_what_it_was_not_blessed_with(study, told, monkeypatch, changed):
    another = {changed: f"sha256:{'b' * 64}"}

    def moved(root: Path, name: str, *, runs_dir: Path, **_: Any) -> WorktreeRun:
        folder = runs_dir / name / "run"
        write_run(folder, "0.5", "first", digests={**digests_of(root), **another})
        return WorktreeRun(folder=folder)

    monkeypatch.setattr(four_cells.worktree_run, "run_at", moved)
    study.gamma("0.98")
    found = study.attributed(told)
    assert (found.answer, cells(found)[THEN_THEN]) == ("undecided", NOT_RUN)
    assert f"with a different {changed} from the promoted one" in found.cells[0].detail


def test_its_runs_have_the_cores_that_the_run_in_question_had(study, told, monkeypatch):
    asked = []

    def noted(root: Path, name: str, *, cores: tuple[int, ...], **more: Any) -> WorktreeRun:
        asked.append(cores)
        return study.trainer(root, name, **more)

    monkeypatch.setattr(four_cells.worktree_run, "run_at", noted)
    monkeypatch.setattr(four_cells, "pinned_cores", lambda _run: (1,))
    study.lock("second")
    study.attributed(told)
    assert asked == [(1,)] * 3


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system has no affinity")
def test_what_is_started_is_held_to_the_cores_and_nothing_is_afterwards(tmp_path, told, monkeypatch):
    first, *_ = every = sorted(os.sched_getaffinity(0))
    seen = []

    def once(*_: Any, **__: Any) -> WorktreeRun:
        seen.append(sorted(os.sched_getaffinity(0)))
        return WorktreeRun(folder=tmp_path)

    monkeypatch.setattr(worktree_run, "_run_once", once)
    for cores in ((first,), (), (10_000,)):
        worktree_run.run_at(tmp_path, NAME, request=Request(), runs_dir=tmp_path, progress=told, cores=cores)
    assert seen == [[first], every, every]
    assert sorted(os.sched_getaffinity(0)) == every


def test_a_golden_that_another_runtime_gives_as_well_still_tells_the_codes_fault(study, told):
    study.trainer.another = {"runtime": f"sha256:{'b' * 64}"}
    study.gamma("0.98")
    assert study.attributed(told).answer == "code"


def test_an_environment_that_cannot_be_rebuilt_says_why(study, told):
    study.lock("second")
    study.gamma("0.98")
    study.trainer.broken = "first"
    found = study.attributed(told)
    assert cells(found) == {THEN_THEN: NOT_RUN, THEN_NOW: DIFFERS, NOW_THEN: NOT_RUN, NOW_NOW: DIFFERS}
    assert found.answer == "undecided"
    assert "no such package" in found.cells[0].detail


def test_changes_that_no_commit_has_count_as_todays(study, told):
    study.gamma("0.97")  # not committed
    assert study.attributed(told).answer == "code"


def test_a_golden_that_is_not_committed_says_so_and_runs_nothing(study, told):
    shutil.rmtree(study.golden)
    for number in (1, 2):
        shutil.rmtree(study.scratch / f"blessed-{number}")
    study.gamma("0.98")
    blessed(study)
    study.gamma("0.97")
    found = study.attributed(told)
    assert (found.answer, found.golden_commit, study.trainer.runs) == ("undecided", None, [])
    assert "not committed" in found.cells[0].detail


def test_a_golden_committed_beside_another_recipe_says_so(study, told):
    study.gamma("0.9")
    provenance = study.golden / "provenance.json"
    provenance.write_text(provenance.read_text() + " ")
    study.commit("another recipe, and the golden touched")
    found = study.attributed(told)
    assert found.answer == "undecided"
    assert "does not hold the recipe" in found.cells[0].detail


def test_the_tree_is_left_as_it_was_and_the_metrics_are_kept(study, told):
    study.gamma("0.98")
    study.attributed(told)
    listed = subprocess.run(
        ["git", "worktree", "list"], cwd=study.project.root, capture_output=True, text=True, check=True
    )
    assert len(listed.stdout.splitlines()) == 1
    kept = sorted(path.parent.name for path in (study.scratch / "kept").rglob("metrics.jsonl"))
    assert kept == ["code-golden-environment-golden"]
