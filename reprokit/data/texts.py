"""Texts in UTF-8 as a table: a row a line, or a row a document.

A document is a file of a folder or archive; in a single file, what stands between empty lines.
"""

from __future__ import annotations

import codecs
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from reprokit.data.folders import each_file, is_archive
from reprokit.errors import UsageError

LINES, DOCUMENTS = "lines", "documents"
_MOST_COMMON = 20


def lines_of(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Number of a line, from 1, and ``text`` without its line break.

    Raises:
        UsageError: A line is not UTF-8.
    """
    with path.open("rb") as stream:
        for number, line in enumerate(stream, start=1):
            text = line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
            yield number, {"text": _decoded(text, where=f"{path}:{number}").removesuffix("\n")}


def documents_of(place: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The number of each document, or the line that it ends on; ``text``, and of a folder its ``file``.

    Raises:
        UsageError: A document is not UTF-8.
    """
    if not (place.is_dir() or is_archive(place)):
        yield from _between_empty_lines(place)
        return
    found: list[dict[str, Any]] = []

    def add(name: str, content: bytes) -> None:
        found.append(
            {"file": name, "text": _decoded(content.removeprefix(codecs.BOM_UTF8), where=f"{place}: {name}")}
        )

    each_file(place, add)
    yield from enumerate(sorted(found, key=lambda one: str(one["file"])), start=1)


class Characters:
    """What characters texts hold, row by row."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._shortest: int | None = None
        self._longest = 0

    def add(self, values: Mapping[str, Any]) -> None:
        text = str(values["text"])
        self._counts.update(text)
        self._shortest = len(text) if self._shortest is None else min(self._shortest, len(text))
        self._longest = max(self._longest, len(text))

    def as_data(self) -> dict[str, Any]:
        """Characters in all, distinct ones, those not in ASCII, lengths of rows, the most common ones."""
        ordered = sorted(self._counts.items(), key=lambda pair: (-pair[1], pair[0]))
        return {
            "characters": self._counts.total(),
            "distinct_characters": len(self._counts),
            "not_ascii": sum(count for one, count in self._counts.items() if not one.isascii()),
            "shortest": self._shortest or 0,
            "longest": self._longest,
            "most_common": dict(ordered[:_MOST_COMMON]),
        }


def _between_empty_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    lines: list[str] = []
    last = 0
    for number, values in lines_of(path):
        if values["text"].strip():
            lines.append(values["text"])
            last = number
        elif lines:
            yield last, {"text": "\n".join(lines)}
            lines = []
    if lines:
        yield last, {"text": "\n".join(lines)}


def _decoded(content: bytes, *, where: str) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"the text is not UTF-8: byte {error.start:,}", where=where) from error
