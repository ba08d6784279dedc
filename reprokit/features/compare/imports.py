"""Whether an unpinned program would import code of the working tree, wherever its own files lie."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from reprokit.capture.interpreter import find_python
from reprokit.errors import CannotJudgeError
from reprokit.recipes import Recipe

_ASK_S = 60.0
#: The folders that are searched, and what is installed so that it is imported from where it lies.
_ASKED = """\
import importlib.metadata, json, sys
found = {}
for one in importlib.metadata.distributions():
    try:
        told = json.loads(one.read_text("direct_url.json") or "{}")
        if told.get("dir_info", {}).get("editable"):
            found[one.metadata["Name"]] = told.get("url", "")
    except (AttributeError, ValueError):
        pass
print(json.dumps({"own": sys.prefix, "path": [one for one in sys.path if one], "editable": found}))
"""


def imported_from(root: Path, recipe: Recipe) -> str:
    """What leads its Python to files below ``root``, in words; "" where nothing does.

    Args:
        root: The working tree.
        recipe: One whose variant is none.

    Raises:
        CannotJudgeError: Its Python gives no answer.
    """
    top = root.resolve()
    for word in os.environ.get("PYTHONPATH", "").split(os.pathsep):
        if word and Path(word).resolve().is_relative_to(top):
            return f"PYTHONPATH has {word}"
    # A script starts some Python of its own: most likely that of the shell.
    command = recipe.program.command if recipe.program else ()
    python = find_python(command) or find_python(["python"])
    return next(_below(top, python), "") if python else ""


def _below(top: Path, python: str) -> Iterator[str]:
    """What leads a Python to files below a folder, but for its own environment there."""
    answer = _asked(python)
    if answer is None:
        return
    for name, url in answer["editable"].items():
        if Path(url2pathname(urlsplit(url).path)).resolve().is_relative_to(top):
            yield f"{name} is installed with --editable"
    own = Path(answer["own"]).resolve() / "lib"
    for word in answer["path"]:
        folder = Path(word).resolve()
        if folder.is_relative_to(top) and not folder.is_relative_to(own):
            yield f"its Python searches {word}"


def _asked(python: str) -> dict[str, Any] | None:
    """The answer of a Python, which begins as the program's does; None where it cannot start.

    Raises:
        CannotJudgeError: It starts and gives none.
    """
    asked = [str(Path.cwd() / python), "-c", _ASKED]
    try:
        ended = subprocess.run(asked, capture_output=True, text=True, check=False, timeout=_ASK_S, cwd=os.sep)
        found: dict[str, Any] = json.loads(ended.stdout)
    except OSError:
        return None  # nor can the program
    except (ValueError, subprocess.TimeoutExpired) as error:
        what = "the program's Python cannot be asked whether it imports code of the working tree"
        raise CannotJudgeError(what, where=python) from error
    return found
