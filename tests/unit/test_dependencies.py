"""What the package declares is what it uses and what it is."""

from __future__ import annotations

import ast
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
#: Used without an import: started as programs, or loaded by another package.
WITHOUT_IMPORT = {"pip", "uv"}


def test_every_declared_dependency_is_imported_somewhere() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    here = [one for one in map(Requirement, declared) if one.marker is None or one.marker.evaluate()]
    names = {canonicalize_name(one.name) for one in here}
    distributions = packages_distributions()
    imported = {
        canonicalize_name(distribution)
        for path in (ROOT / "reprokit").rglob("*.py")
        for module in _imported(path)
        for distribution in distributions.get(module.partition(".")[0], ())
    }

    assert sorted(names - imported - WITHOUT_IMPORT) == []


def _imported(path: Path) -> set[str]:
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    whole = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return whole | {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}


def test_the_package_says_that_it_is_typed_and_the_mark_is_installed() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert (ROOT / "reprokit" / "py.typed").read_bytes() == b""
    assert settings["tool"]["setuptools"]["package-data"]["reprokit"] == ["py.typed"]
