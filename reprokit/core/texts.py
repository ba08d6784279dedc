"""Texts in records: paths of a run as placeholders, and the words in which two long texts differ.

Programs log their own arguments, the run's folder among them: two good runs differ there and nowhere else.

    >>> differing_words("|lr|0.1| and more words than fit", "|lr|0.2| and more words than fit", limit=9)
    ('|lr|0.1| …', '|lr|0.2| …')
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

#: A path of a run, as the program saw it, or the run's id → what stands for it.
Places = Mapping[str, str]
_WORDS = re.compile(r"\S+|\s+")
_LIMIT = 60


class Placeholders:
    """Puts placeholders where the paths of the expected and of the actual run stand."""

    def __init__(self, expected: Places, actual: Places) -> None:
        self._sides = PathPlaceholders(expected), PathPlaceholders(actual)

    def put(self, expected: Any, actual: Any) -> tuple[Any, Any]:
        """A pair of values as they are to be compared; equal ones and numbers stay as they are."""
        if isinstance(expected, float | int) or expected == actual:
            return expected, actual
        return self._sides[0].put(expected), self._sides[1].put(actual)


class PathPlaceholders:
    """Puts placeholders where the paths of one run stand, in texts however deep in lists and mappings."""

    def __init__(self, places: Places) -> None:
        longest_first = sorted(filter(None, places), key=len, reverse=True)
        self._places = [(_pattern(path), places[path]) for path in longest_first]

    def put(self, value: Any) -> Any:
        """The value with placeholders in it."""
        if isinstance(value, str):
            for pattern, placeholder in self._places:
                value = pattern.sub(placeholder, value)
            return value
        if isinstance(value, list):
            return [self.put(one) for one in value]
        return {name: self.put(one) for name, one in value.items()} if isinstance(value, dict) else value


def _pattern(path: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w.-]){re.escape(path)}(?![\w.-])")


def differing_words(expected: str, actual: str, *, limit: int = _LIMIT) -> tuple[str, str]:
    """Two texts, of long ones the words from the first that differs to the last, with … for the others."""
    if max(len(expected), len(actual)) <= limit:
        return expected, actual
    left, right = _WORDS.findall(expected), _WORDS.findall(actual)
    shortest = min(len(left), len(right))
    before = next((at for at in range(shortest) if left[at] != right[at]), shortest)
    after = next(
        (at for at in range(shortest - before) if left[-1 - at] != right[-1 - at]), shortest - before
    )
    return _between(left, before, after), _between(right, before, after)


def _between(words: list[str], before: int, after: int) -> str:
    kept = "".join(words[before : len(words) - after])
    return f"{'… ' if before else ''}{kept}{' …' if after else ''}"
