"""A project of its own with the real recipe and trainer, cut to a few updates, and the tool started in it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
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
    def playing(self) -> Path:
        """The trainer's part that makes and seeds environments."""
        return self.root / "recipes" / "parts" / "playing.py"

    @property
    def runs(self) -> list[Path]:
        return sorted((self.root / "runs").glob("*/*/run.json"))

    def reprokit(
        self,
        *arguments: str,
        timeout: float = 600,
        env: dict[str, str] | None = None,
        before: tuple[str, ...] | list[str] = (),
    ) -> Answer:
        done = subprocess.run(
            [*before, sys.executable, "-m", "reprokit", *arguments],
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


def _git(root: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    subprocess.run(["git", *identity, *arguments], cwd=root, check=True)


def with_golden(root: Path, *, backend: str) -> Study:
    """A project with a golden that two runs agreed on."""
    study = make_study(root)
    (root / ".gitignore").write_text("runs/\nreports/\n.env\n")
    (root / ".env").write_text("HF_TOKEN=hf_0123456789abcdefghij\n")
    _git(root, "init", "--quiet")
    _git(root, "add", "--all")
    _git(root, "commit", "--quiet", "--message", "first")
    first = study.reproduce(backend=backend)
    assert first.report["verdict"] == "NO_GOLDEN", first.err
    promoted = study.reprokit("golden", "promote", *first.report["runs"], "--reason", "first golden")
    assert promoted.code == 0, promoted.err
    return study
