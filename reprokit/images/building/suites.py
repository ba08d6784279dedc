"""The distribution's releases that bases are built of, and the Pythons that each packs.

>>> python_of("forky", ["ca-certificates", "python3.15", "python3.15-venv"])
'3.15'
"""

from __future__ import annotations

import re
from collections.abc import Collection

#: The release that the tool brings a pinned base of.
USUAL_SUITE = "bookworm"
#: The Python that each release calls ``python3``.
PYTHON_OF_SUITE = {USUAL_SUITE: "3.11", "trixie": "3.13", "forky": "3.14"}
#: Of a release with two, the other is asked for by its version.
_SECOND = {"3.15": "forky"}
SUITE_OF_PYTHON = {python: suite for suite, python in PYTHON_OF_SUITE.items()} | _SECOND
#: Releases that are not finished: their archive holds only the newest version of each package.
MOVING_SUITES = frozenset({"forky"})
_OF_PYTHON = re.compile(r"python3(\.\d+)?(-venv)?")


def python_of(suite: str, packages: Collection[str]) -> str | None:
    """The Python of a base of these packages; None for a release that is not known here."""
    return second_python(packages) or PYTHON_OF_SUITE.get(suite)


def second_python(packages: Collection[str]) -> str:
    """The version of a Python that packages name, ``3.15``; "" where it is the release's own."""
    found = (_OF_PYTHON.fullmatch(name) for name in packages)
    return next((f"3{one[1]}" for one in found if one and one[1]), "")


def packages_for(python: str, packages: Collection[str]) -> list[str]:
    """The same packages with those of this Python in place of another's."""
    version = python if python in _SECOND else "3"
    found = ((name, _OF_PYTHON.fullmatch(name)) for name in packages)
    return [f"python{version}{one[2] or ''}" if one else name for name, one in found]
