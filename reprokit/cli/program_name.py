"""How to call this tool from here: `make` installs it in ``.venv``, which is not on the PATH.

Only text for a terminal is changed; reports are read elsewhere and name the tool plainly.

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
    """The text with every reprokit command as it can be typed here."""
    from reprokit.cli.verb_map import verbs

    name = called()
    if name == _TOOL:
        return text
    return re.sub(rf"(?<![\w./-]){_TOOL}(?= (?:{'|'.join(verbs())})\b)", lambda _: name, text)


def called() -> str:
    """``reprokit`` if it is on the PATH, else the path that was typed."""
    typed = Path(sys.argv[0])
    if shutil.which(_TOOL):
        return _TOOL
    if typed.name == "__main__.py" and typed.parent.name == _TOOL:
        return f"{_from_here(Path(sys.executable))} -m {_TOOL}"
    return _from_here(typed) if typed.name == _TOOL else _TOOL


def _from_here(path: Path) -> str:
    text = os.fspath(path)
    return text.removeprefix(f"{Path.cwd()}/")
