"""A project of its own for each fault: the real recipe and trainer, cut to a few updates."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]
STEPS = 12_288


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a person gets back: exit code, stdout, stderr."""

    code: int
    out: str
    err: str

    @property
    def report(self) -> dict[str, Any]:
        return json.loads(self.out)

    def row(self, name: str) -> dict[str, Any]:
        return next(row for row in self.report["checks"] if row["id"] == name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """A project folder, and the tool started in it as a person starts it."""

    root: Path

    @property
    def recipe(self) -> Path:
        return self.root / "recipes" / "cartpole_baseline" / "recipe.yaml"

    @property
    def trainer(self) -> Path:
        return self.root / "recipes" / "trainers" / "ppo.py"

    @property
    def runs(self) -> list[Path]:
        return sorted((self.root / "runs").glob("*/*/run.json"))

    def reprokit(self, *arguments: str, timeout: float = 600, env: dict[str, str] | None = None) -> Answer:
        done = subprocess.run(
            [sys.executable, "-m", "reprokit", *arguments],
            cwd=self.root,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
            env={**os.environ, "PYTHONPATH": str(ROOT), **(env or {})},
        )
        return Answer(code=done.returncode, out=done.stdout, err=done.stderr)

    def reproduce(self, *arguments: str, backend: str = "local") -> Answer:
        return self.reprokit("reproduce", "cartpole_baseline", "--backend", backend, "--json", *arguments)

    def change(self, path: Path, old: str, new: str) -> None:
        text = path.read_text(encoding="utf-8")
        assert text.count(old) == 1, f"{old!r} is {text.count(old)} times in {path.name}"
        path.write_text(text.replace(old, new), encoding="utf-8")


def make_study(root: Path) -> Study:
    """Copy one recipe, trainers and images, and cut the training to three updates."""
    for name in ("recipes", "images"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    study = Study(root=root)
    for recipe in root.glob("recipes/*/recipe.yaml"):
        if recipe != study.recipe:
            shutil.rmtree(recipe.parent)  # the gate covers every recipe that is there
    text = study.recipe.read_text(encoding="utf-8")
    text = re.sub(r"total_timesteps: [\d_]+", f"total_timesteps: {STEPS}", text)
    text = re.sub(r"^expected:\n(?:[ #].*\n)+", "", text, flags=re.MULTILINE)
    text += "\nexpected:\n  final/return_mean: {value: 250, atol: 250}\n"
    study.recipe.write_text(text, encoding="utf-8")
    return study


@pytest.fixture
def study_at() -> Callable[[Path], Study]:
    """The tool, started in a folder of the test's own."""
    return lambda root: Study(root=root)


@pytest.fixture(scope="module")
def study_at_module() -> Callable[[Path], Study]:
    """The same, in a folder that the tests of a module share."""
    return lambda root: Study(root=root)


@pytest.fixture(scope="session")
def blessed(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """A study with a golden; nothing may be changed in it."""
    study = make_study(tmp_path_factory.mktemp("study"))
    first = study.reproduce()
    assert first.code == 4, first.out + first.err
    assert first.report["verdict"] == "NO_GOLDEN"
    promoted = study.reprokit(
        "golden", "promote", "cartpole_baseline", "--reason", "first golden", "--allow-dirty"
    )
    assert promoted.code == 0, promoted.err
    return study


@pytest.fixture
def study(blessed: Study, tmp_path: Path) -> Study:
    """A copy of the blessed study that a test may break."""
    root = tmp_path / "study"
    shutil.copytree(blessed.root, root, ignore=shutil.ignore_patterns("runs", "reports"))
    return Study(root=root)


@pytest.fixture
def wait_for() -> Callable[[Callable[[], bool], float], None]:
    """Wait until a condition holds, or fail."""

    def wait(condition: Callable[[], bool], seconds: float) -> None:
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, "waited in vain"
            time.sleep(0.05)

    return wait
