"""Where the command line begins: the tool imports nothing from the tree that it judges.

``python -m`` puts the current folder on the path of imports, and PYTHONPATH what programs need. A file there
that is called like a package of the tool would run in its place, and could answer for a gate.
"""

from __future__ import annotations

import os
import site
import sys
from typing import NoReturn

import reprokit


def main() -> NoReturn:
    """Run the command line; the programs that it starts have their PYTHONPATH as it is."""
    sys.path[:] = [entry for entry in sys.path if not _is_judged(entry)]
    from reprokit.cli import main as command_line  # noqa: PLC0415 - after the path is what it should be

    command_line()


def _is_judged(entry: str) -> bool:
    """Whether an entry of the path leads into the repository of the current folder, which may be judged.

    The folder that this package lies in is not, and neither is an environment inside the repository, or what
    a person installed for themselves where their home is one.
    """
    try:
        top = _top_of(os.getcwd())  # noqa: PTH109 - pathlib is imported where it is used
        place = os.path.realpath(entry)
    except OSError:  # the current folder is gone: the command line says so
        return False
    own = os.path.realpath(os.path.dirname(os.path.dirname(reprokit.__file__)))  # noqa: PTH120
    kept = (
        sys.prefix,
        sys.base_prefix,
        sys.exec_prefix,
        *([site.getusersitepackages()] if site.ENABLE_USER_SITE else ()),
    )
    if place == own or any(_is_in(place, os.path.realpath(folder)) for folder in kept):
        return False
    return _is_in(place, os.path.realpath(top))


def _top_of(folder: str) -> str:
    """The top of the outermost git repository that a folder is in; the folder itself where it is in none."""
    top, above, below = folder, folder, ""
    while above != below:
        if os.path.exists(f"{above}/.git"):  # noqa: PTH110
            top = above
        above, below = os.path.dirname(above), above  # noqa: PTH120
    return top


def _is_in(place: str, folder: str) -> bool:
    return place == folder or place.startswith(folder.rstrip(os.sep) + os.sep)
