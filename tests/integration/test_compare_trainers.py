"""Two sides of a trainer: runs that are there already are found from a part of the tree, and only those."""

from __future__ import annotations

import contextlib
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("torch")

from reprokit import runs
from reprokit.features.compare.answer import Word
from reprokit.features.compare.asked import sides_asked
from reprokit.features.compare.compare import compare_recipe
from reprokit.features.compare.tree_parts import Part
from reprokit.features.compare.trees import SideTree
from reprokit.harness.running.numbers import mounted_digest
from reprokit.project import Project
from reprokit.records import environment_json
from reprokit.request import Request
from reprokit.session import Session
from support.recorded_progress import RecordedProgress

PROJECT = Path(__file__).resolve().parents[2]
FEW = ("training.total_timesteps=1437", "logging.save_interval=1000", "logging.eval_interval=700")

pytestmark = pytest.mark.slow


@pytest.fixture
def clone(tmp_path, monkeypatch):
    root = tmp_path / "project"
    subprocess.run(["git", "clone", "--quiet", str(PROJECT), str(root)], check=True)
    monkeypatch.chdir(root)
    return root


def commit(root: Path, name: str, old: str, new: str) -> None:
    file = root / name
    file.write_text(file.read_text().replace(old, new) if old else file.read_text() + new)
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    subprocess.run(["git", *who, "commit", "--quiet", "--all", "--message", "m"], cwd=root, check=True)


def compared(root: Path, backend: str = "local"):
    request = Request(backend=backend, overrides=FEW)
    session = Session(project=Project.around(root), progress=RecordedProgress())
    asked = sides_asked({"a": "HEAD~1", "b": "HEAD"})
    return compare_recipe("digits_mlp", asked, request, only=None, share=(), session=session)[0]


def test_runs_that_are_there_are_taken_without_a_whole_tree_and_others_are_not(clone, monkeypatch):
    asked_for = []
    with_part = SideTree.with_part
    monkeypatch.setattr(
        SideTree, "with_part", lambda tree, part: asked_for.append(tree.part is part) or with_part(tree, part)
    )
    trainer = "recipes/trainers/classifier.py"
    commit(clone, trainer, "", "# one\n")
    commit(clone, trainer, "", "# two\n")
    first = compared(clone)
    assert (first.answer, asked_for) == (Word.EQUAL, [True, True]), first.sentence

    asked_for.clear()
    commit(clone, "recipes/digits_mlp/recipe.yaml", "learning_rate: 3e-3", "learning_rate: 2e-3")
    second = compared(clone)
    assert second.sides["a"].runs == first.sides["b"].runs
    assert (second.answer, asked_for) == (Word.DIFFERENT, [True])
    assert second.sides["a"].what.startswith(f"commit {commit_of(clone, 'HEAD~1')}")

    asked_for.clear()
    runs = [Path(run) for run in second.sides["b"].runs]
    commit(clone, trainer, "", "# three\n")
    for run in runs:  # which says that it is complete, and is not as it was written
        (run / "metrics.jsonl").write_text((run / "metrics.jsonl").read_text() + " ")
    third = compared(clone)
    assert (third.answer, asked_for) == (Word.EQUAL, [False, True]), third.sentence
    assert not {*map(Path, third.sides["a"].runs)} & {*runs}


@pytest.mark.engine
def test_in_a_container_a_trainer_needs_what_is_mounted_and_no_other_file_of_its_commit(
    clone, monkeypatch, cpu_image
):
    trees = []
    with_part = SideTree.with_part
    monkeypatch.setattr(
        SideTree, "with_part", lambda tree, part: trees.append(with_part(tree, part)) or trees[-1]
    )
    looked_at = []
    monkeypatch.setattr(
        SideTree,
        "named_by_commit",
        lambda tree: looked_at.append(names_in(tree.root)) or contextlib.nullcontext(),
    )
    trainer = "recipes/trainers/classifier.py"
    for remark in ("# one\n", "# two\n"):
        commit(clone, trainer, "", remark)
    first = compared(clone, backend="docker")
    assert first.answer is Word.EQUAL, first.sentence
    assert {tree.part for tree in trees} == {Part.MOUNTED}
    assert all({"recipes", "images", "reprokit"} <= names <= PARTS for names in looked_at)
    for run in map(Path, (*first.sides["a"].runs, *first.sides["b"].runs)):
        assert runs.read(run).record.mounted_digest == mounted_digest(clone / "reprokit")
        source = environment_json.recorded(run)["source"]
        assert (source["dirty"], source["changed"]) == (False, 0)

    commit(clone, "recipes/digits_mlp/recipe.yaml", "learning_rate: 3e-3", "learning_rate: 2e-3")
    second = compared(clone, backend="docker")
    assert second.sides["a"].runs == first.sides["b"].runs
    assert second.answer is Word.DIFFERENT


PARTS = {".git", "recipes", "images", "reprokit", "pyproject.toml", "runs"}


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def commit_of(root: Path, revision: str) -> str:
    words = ["git", "rev-parse", "--short=12", revision]
    return subprocess.run(words, cwd=root, check=True, capture_output=True, text=True).stdout.strip()
