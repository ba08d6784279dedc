"""Reads what a script says of itself in its comments (PEP 723): its dependencies, and its Python.

https://packaging.python.org/en/latest/specifications/inline-script-metadata/
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from reprokit.errors import ImageError
from reprokit.features.locking.dependencies import Dependencies, Wanted, requirement
from reprokit.images.packages import read_text

_BLOCK = re.compile(r"^# /// script$\s(?P<lines>(?:^#(?:| .*)$\s)+?)^# ///$", re.MULTILINE)


def read_script(path: Path, *, root: Path, wanted: Wanted) -> Dependencies:  # noqa: ARG001  (as of other files)
    """The dependencies of a script, and the range of its Python.

    Raises:
        ImageError: It has no such block, has several, or one that is no TOML or names an address.
    """
    found = list(_BLOCK.finditer(read_text(path)))
    if len(found) != 1:
        raise ImageError(
            "a script that is locked names its dependencies in one block",
            where=str(path),
            expected="# /// script",
            actual=f"{len(found)} blocks",
        )
    lines = (line[2:] if line.startswith("# ") else line[1:] for line in found[0]["lines"].splitlines())
    try:
        data: dict[str, Any] = tomllib.loads("\n".join(lines))
    except ValueError as error:
        raise ImageError(f"the block of the script is not valid TOML: {error}", where=str(path)) from error
    return Dependencies(
        requirements=tuple(requirement(str(one), where=str(path)) for one in data.get("dependencies") or ()),
        python=str(data.get("requires-python") or ""),
    )
