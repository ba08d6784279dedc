"""What the harness' tests share: a project in a temporary folder, and runs made without a process."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reprokit import recipes
from reprokit.capture import capture_interpreter
from reprokit.core.records import digest_bytes
from reprokit.harness import Project
from reprokit.harness.running import start_runs
from reprokit.recipes import Recipe
from support.command_recipe import PROGRAM, RECIPE, Repository
from support.fake_backend import HOST, REALISATION, FakeBackend, ended, logging, training
from support.made_runs import MadeRuns
from support.recorded_progress import RecordedProgress

_ON_A_CPU = {"device": {"kind": "cpu"}}
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def told() -> RecordedProgress:
    return RecordedProgress()


@pytest.fixture(scope="session")
def recipe() -> Recipe:
    return recipes.load("cartpole_baseline", recipes_dir=ROOT / "recipes")


@pytest.fixture
def here(tmp_path: Path) -> Project:
    """A project with no recipes of its own, in a temporary folder."""
    return Project.around(tmp_path)


@pytest.fixture
def make(here: Project, recipe: Recipe, told: RecordedProgress) -> MadeRuns:
    return MadeRuns(here=here, recipe=recipe, told=told)


@pytest.fixture
def fake() -> type[FakeBackend]:
    return FakeBackend


@pytest.fixture
def programs() -> dict[str, Any]:
    """The fake programs and results, by name."""
    made = {"training": training, "logging": logging, "ended": ended}
    return {**made, "host": HOST, "realisation": REALISATION}


@pytest.fixture
def plant() -> Callable[..., None]:
    """Plants another value under a key of ``core.comparability`` in a run folder, and closes it again."""

    def planted(folder: Path, path: str) -> None:
        if path == "config":
            (folder / "config.yaml").write_text("training: {gamma: 0.5}\n")
            return _close_again(folder, "config.yaml")
        record = json.loads((folder / "run.json").read_text())
        *above, last = path.split(".")
        section = record
        for name in above:
            section[name] = dict(section.get(name) or {})
            section = section[name]
        section[last] = _another(last)
        (folder / "run.json").write_text(json.dumps(record))
        return _close_again(folder, "run.json")

    return planted


def _another(name: str) -> Any:
    """A value of the kind that a key of ``run.json`` has: a record with another kind would be damaged."""
    kinds = {
        "digests": {"trainer": "another"},
        "seed": 43,
        "step": 43,
        "training_config": {"a": 1},
        "stressed": {"number": 1},
    }
    words = ("command", "plain_command", "modified", "names")
    return ["another"] if name in words else kinds.get(name, "another")


def _close_again(folder: Path, name: str) -> None:
    marker = folder / "COMPLETE"
    if marker.is_file():
        data = (folder / name).read_bytes()
        closed = json.loads(marker.read_text())
        closed["files"][name] = {"sha256": digest_bytes(data), "bytes": len(data)}
        marker.write_text(json.dumps(closed))


@pytest.fixture(scope="session")
def inside():
    """What this Python says of itself, asked once: importing torch takes seconds."""
    return capture_interpreter(["python"])


@pytest.fixture
def repository(tmp_path, monkeypatch, inside):
    monkeypatch.setattr(start_runs, "inside_of", lambda spec, *, backend: {**inside, **_ON_A_CPU})
    # A file that is written twice within a second, at one length, would be run from its old byte-code.
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    made = Repository(tmp_path / "theirs")
    made.root.mkdir()
    made.git("init", "--quiet")
    made.write(train_py=PROGRAM, settings_py="RATE = 0.1\n", recipes__train__recipe_yaml=RECIPE)
    (made.root / ".gitignore").write_text("runs/\nreports/\n__pycache__/\n")
    made.commit()
    return made
