"""Keeps pip from running the build file of a source archive whose files are data here.

pip asks every source archive for its metadata by running its build backend (PEP 517) in a Python of its own.
`package_place` puts this folder on that Python's path: the answer is the name and version that pip asked for,
and no line of the archive is run. A Python that is neither pip nor such a question ends at once.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

#: ``NAME==VERSION``; where it is not set, this file does nothing.
PIN = "REPROKIT_PACKAGE_PIN"


def _answer(hook: str, folder: Path) -> object:
    """What a build backend without requirements answers (pyproject-hooks: input.json and output.json)."""
    if hook.startswith("get_requires_for_"):
        return []
    if hook == "prepare_metadata_for_build_wheel":
        name, _, version = os.environ[PIN].partition("==")
        given = json.loads((folder / "input.json").read_text(encoding="utf-8"))
        made = Path(given["kwargs"]["metadata_directory"]) / "data.dist-info"
        made.mkdir()
        text = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        (made / "METADATA").write_text(text, encoding="utf-8")
        return made.name
    raise ValueError(hook)


if PIN in os.environ and sys.orig_argv[1:4] != ["-P", "-m", "pip"]:
    try:
        asked, control = sys.orig_argv[-2:]
        value = {"return_val": _answer(asked, Path(control))}
        (Path(control) / "output.json").write_text(json.dumps(value), encoding="utf-8")
    except (KeyError, OSError, ValueError):
        os._exit(70)
    os._exit(0)
