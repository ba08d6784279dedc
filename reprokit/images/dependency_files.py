"""Which file says what a program depends on, the most exact one first."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from reprokit.regular_file import read_regular

#: File names, those that pin most first.
_LOCKS = ("uv.lock", "pylock.toml", "poetry.lock")
_NAMED = ("requirements.lock", "requirements.txt", "requirements/base.txt", "requirements/requirements.txt")
_OTHERS = ("pixi.toml", "environment.yml", "environment.yaml")


def find_dependencies(root: Path, script: str = "") -> Path | None:
    """The file to lock an environment from; None where the project names no dependency.

    Args:
        root: The project's folder.
        script: The program's file below it, which may say itself what it needs (PEP 723); "" for none.
    """
    if script and _says_itself(root / script):
        return root / script
    for name in (*_LOCKS, *_NAMED):
        if (root / name).is_file():
            return root / name
    others = sorted(root.glob("pylock.*.toml")) or sorted(root.glob("requirements*.txt"))
    if others:
        return others[0]
    if _names_dependencies(root / "pyproject.toml"):
        return root / "pyproject.toml"
    return next((root / name for name in _OTHERS if (root / name).is_file()), None)


def _says_itself(path: Path) -> bool:
    try:
        return (
            re.search(r"^# /// script$", read_regular(path).decode("utf-8", "replace"), re.MULTILINE)
            is not None
        )
    except OSError:
        return False


def _names_dependencies(path: Path) -> bool:
    try:
        project = tomllib.loads(read_regular(path).decode("utf-8")).get("project", {})
    except (OSError, ValueError):
        return False
    return isinstance(project, dict) and bool(project.get("dependencies") or "dependencies" in project)
