"""The last records of a log of JSON lines that is still being written."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

_TAIL_BYTES = 4096


def last_object(path: Path) -> dict[str, Any] | None:
    """The object on the last whole line; None where there is none."""
    found = last_objects(path, most_bytes=_TAIL_BYTES, most=1)
    return found[-1] if found else None


def last_objects(path: Path, *, most_bytes: int, most: int | None = None) -> list[dict[str, Any]]:
    """The objects on the last whole lines, oldest first; what a line holds otherwise ends them.

    Args:
        path: The log.
        most_bytes: How much of its end is read.
        most: How many objects at most.
    """
    try:
        # The program may have put a link or a pipe there: neither is followed or waited for.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as stream:
            size = stream.seek(0, os.SEEK_END)
            stream.seek(max(0, size - most_bytes))
            lines = stream.read(most_bytes).split(b"\n")[:-1]
    except OSError:
        return []
    if size > most_bytes:
        lines = lines[1:]  # its beginning is not there
    found: list[dict[str, Any]] = []
    for line in reversed(lines if most is None else lines[-most:]):
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            break
        if not isinstance(value, dict):
            break
        found.append(value)
    return found[::-1]
