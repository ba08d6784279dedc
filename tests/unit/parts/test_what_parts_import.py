"""Trainers and parts import what the environment that trains holds, and no trainer."""

import ast
import sys
from pathlib import Path

import pytest

TRAINERS = sorted((Path(__file__).resolve().parents[3] / "recipes" / "trainers").glob("*.py"))
PARTS = sorted((Path(__file__).resolve().parents[3] / "recipes" / "parts").glob("*.py"))
ALLOWED = ("torch", "numpy", "gymnasium", "reprokit.runtime", "reprokit.errors", "recipes.parts")


@pytest.mark.parametrize("path", [*TRAINERS, *PARTS], ids=lambda path: path.stem)
def test_what_trains_imports_its_environment_the_runtime_and_parts_only(path):
    names = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
    foreign = [name for name in names if name.partition(".")[0] not in sys.stdlib_module_names]
    assert [name for name in foreign if not name.startswith(ALLOWED)] == []


@pytest.mark.parametrize("path", TRAINERS, ids=lambda path: path.stem)
def test_a_trainer_imports_no_other_one(path):
    assert "recipes.trainers" not in path.read_text(encoding="utf-8")
