"""What to type to call this tool again from here: `make` leaves it in ``.venv``, where no PATH leads.

Only what a terminal shows passes through here: reports name the tool plainly, since others read them
elsewhere.

    >>> as_called("`reprokit doctor`")
    '`.venv/bin/reprokit doctor`'
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

_TOOL = "reprokit"


def as_called(text: str) -> str:
    """The text with every command of this tool as it can be typed here."""
    from reprokit.cli import VERBS

    name = called()
    if name == _TOOL:
        return text
    return re.sub(rf"(?<![\w./-]){_TOOL}(?= (?:{'|'.join(VERBS)})\b)", lambda _: name, text)


def called() -> str:
    """``reprokit`` where that would find the tool, else the path that was typed."""
    typed = Path(sys.argv[0])
    if shutil.which(_TOOL):
        return _TOOL
    if typed.name == "__main__.py" and typed.parent.name == _TOOL:
        return f"{_from_here(Path(sys.executable))} -m {_TOOL}"
    return _from_here(typed) if typed.name == _TOOL else _TOOL


def _from_here(path: Path) -> str:
    text = os.fspath(path)
    return text.removeprefix(f"{Path.cwd()}/")
