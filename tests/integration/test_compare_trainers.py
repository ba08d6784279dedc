"""Two sides of a trainer: runs that are there already are found from a part of the tree, and only those."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

pytest.importorskip("torch")

from reprokit.features.compare.answer import Word
from reprokit.features.compare.asked import sides_asked
from reprokit.features.compare.compare import compare_recipe
from reprokit.features.compare.trees import SideTree
from reprokit.project import Project
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


def compared(root: Path):
    request = Request(backend="local", overrides=FEW)
    session = Session(project=Project.around(root), progress=RecordedProgress())
    asked = sides_asked({"a": "HEAD~1", "b": "HEAD"})
    return compare_recipe("digits_mlp", asked, request, only=None, share=(), session=session)[0]


def test_runs_that_are_there_are_taken_without_a_whole_tree_and_others_are_not(clone, monkeypatch):
    asked_for = []
    whole = SideTree.whole
    monkeypatch.setattr(SideTree, "whole", lambda tree: asked_for.append(tree.is_whole) or whole(tree))
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
    assert (third.answer, asked_for) == (Word.EQUAL, [False, True])
    assert not {*map(Path, third.sides["a"].runs)} & {*runs}


def commit_of(root: Path, revision: str) -> str:
    words = ["git", "rev-parse", "--short=12", revision]
    return subprocess.run(words, cwd=root, check=True, capture_output=True, text=True).stdout.strip()
