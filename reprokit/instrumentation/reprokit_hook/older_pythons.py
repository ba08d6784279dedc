"""What Pythons before 3.11 lack, for a hook that runs in the program's own one (3.8 and later)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any


def zipped(*columns: Iterable[Any]) -> Iterator[Any]:
    """As ``zip``, which took no ``strict`` before 3.10; the shortest one ends it."""
    return zip(*columns)  # noqa: B905 - see above


def without_prefix(text: str, prefix: str) -> str:
    """As ``str.removeprefix``, which came with 3.9."""
    if text.startswith(prefix):  # noqa: FURB188 - see above
        text = text[len(prefix) :]
    return text
