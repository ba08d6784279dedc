"""The distribution's releases that bases are built of, and the Python of each."""

from __future__ import annotations

#: The release that the tool brings a pinned base of.
USUAL_SUITE = "bookworm"
PYTHON_OF_SUITE = {USUAL_SUITE: "3.11", "trixie": "3.13", "forky": "3.14"}
SUITE_OF_PYTHON = {python: suite for suite, python in PYTHON_OF_SUITE.items()}
#: Releases that are not finished: their archive holds only the newest version of each package.
MOVING_SUITES = frozenset({"forky"})
