"""Whether an unpinned program would import code of the working tree, wherever its own files lie."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from reprokit.capture.interpreter import find_python
from reprokit.recipes import Recipe

_ASK_S = 60.0
#: Names and folders of what is installed so that it is imported from where it lies.
_EDITABLE = """\
import importlib.metadata, json
found = {}
for one in importlib.metadata.distributions():
    told = json.loads(one.read_text("direct_url.json") or "{}")
    if told.get("dir_info", {}).get("editable"):
        found[one.metadata["Name"]] = told.get("url", "")
print(json.dumps(found))
"""


def imported_from(root: Path, recipe: Recipe) -> str:
    """What leads its Python to files below ``root``, in words; "" where nothing does.

    Args:
        root: The working tree.
        recipe: One whose variant is none.
    """
    top = root.resolve()
    for word in os.environ.get("PYTHONPATH", "").split(os.pathsep):
        if word and Path(word).resolve().is_relative_to(top):
            return f"PYTHONPATH has {word}"
    python = find_python(recipe.program.command) if recipe.program else None
    for name, url in _editable(python).items() if python else ():
        if Path(url.removeprefix("file://")).resolve().is_relative_to(top):
            return f"{name} is installed with --editable"
    return ""


def _editable(python: str) -> dict[str, str]:
    try:
        ended = subprocess.run(
            [python, "-I", "-c", _EDITABLE], capture_output=True, text=True, check=False, timeout=_ASK_S
        )
        found = json.loads(ended.stdout)
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return {}
    return {str(name): str(url) for name, url in found.items()} if isinstance(found, dict) else {}
