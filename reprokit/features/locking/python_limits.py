"""Which versions of Python a project's own files allow.

>>> limits_of(Path("."))
(PythonLimit(range='>=3.8,<3.11', where='pyproject.toml'),)
"""

from __future__ import annotations

import ast
import configparser
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from reprokit.errors import ImageError
from reprokit.regular_file import read_regular

_POETRY = re.compile(r"([\^~])\s*(\d+)(?:\.(\d+))?(\.\d+)?")
_MOST_PATCHES = 40


@dataclass(frozen=True, slots=True)
class PythonLimit:
    """A range (PEP 440) and the file that says it."""

    range: str
    where: str

    def allows(self, python: str) -> bool:
        """Whether some patch level of a minor version fits: ``>=3.11.4`` allows 3.11.

        Raises:
            ImageError: It is no range.
        """
        try:
            allowed = SpecifierSet(self.range)
        except InvalidSpecifier as error:
            what = f"not a range of Python versions: {self.range}"
            raise ImageError(what, where=self.where) from error
        plain = python.rstrip("t")
        return any(allowed.contains(f"{plain}.{patch}", prereleases=True) for patch in range(_MOST_PATCHES))


def limits_of(root: Path) -> tuple[PythonLimit, ...]:
    """What ``pyproject.toml``, ``setup.cfg`` and ``setup.py`` of a project say, the first that says it."""
    for name, read in (("pyproject.toml", _of_project), ("setup.cfg", _of_cfg), ("setup.py", _of_setup)):
        try:
            found = read(read_regular(root / name).decode("utf-8", "replace"))
        except (OSError, ValueError, SyntaxError, RecursionError, configparser.Error):
            continue
        if found:
            return (PythonLimit(found, name),)
    return ()


def standard_range(text: str) -> str:
    """A range in the standard's form; Poetry's ``^3.9`` and ``~3.9`` are converted to it; "" for any.

    >>> standard_range("^3.9"), standard_range("~3.9.2"), standard_range("*")
    ('>=3.9,<4', '>=3.9.2,<3.10', '')
    """
    if "|" in text or text.strip() == "*":
        return ""
    if re.fullmatch(r"\d+(\.\d+){1,2}", text.strip()):
        return f"=={text.strip()}{'.*' if text.count('.') == 1 else ''}"
    return ",".join(_POETRY.sub(_told, part.strip()) for part in text.split(",") if part.strip())


def _told(match: re.Match[str]) -> str:
    sign, major, minor, patch = match.groups()
    lowest = ".".join(filter(None, (major, minor))) + (patch or "")
    if sign == "^" or minor is None:
        return f">={lowest},<{int(major) + 1}"
    return f">={lowest},<{major}.{int(minor) + 1}"


def _of_project(text: str) -> str:
    data: dict[str, Any] = tomllib.loads(text)
    asked = (data.get("project") or {}).get("requires-python")
    poetry = ((data.get("tool") or {}).get("poetry") or {}).get("dependencies") or {}
    python = asked or poetry.get("python")
    named = python.get("version") if isinstance(python, dict) else python
    return standard_range(str(named or ""))


def _of_cfg(text: str) -> str:
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_string(text)
    return parser.get("options", "python_requires", fallback="").strip()


def _of_setup(text: str) -> str:
    """``python_requires=`` of a call, where it is plain text: nothing of it is run."""
    for node in ast.walk(ast.parse(text)):
        named = node.value if isinstance(node, ast.keyword) and node.arg == "python_requires" else None
        if isinstance(named, ast.Constant) and isinstance(named.value, str):
            return named.value.strip()
    return ""
