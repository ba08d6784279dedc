"""How far a run is, by what stands in its folder while it goes on."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from reprokit import file_tree
from reprokit.layout import OUTPUT, STDERR, STDOUT, TIMING
from reprokit.session import Progress

_TAIL_BYTES = 4096
_MAX_WATCHED = 200


def tell_of(progress: Progress, label: str, folder: Path) -> None:
    """Say how far a run is, by what stands in its folder."""
    line = last_object(folder / OUTPUT / TIMING)
    if line and isinstance(line.get("step"), int):
        progress.update(
            label,
            line["step"],
            line.get("total_steps"),
            steps_per_s=line.get("steps_per_s"),
            eta_s=line.get("eta_s"),
        )
    else:
        progress.alive(label, _left_so_far(folder))


def _left_so_far(folder: Path) -> str:
    """How much a program has written and printed: a sign of life where it tells no steps."""
    logs = [folder / STDOUT, folder / STDERR]
    found = file_tree.walk(folder / OUTPUT, limits=file_tree.WalkLimits(entries=_MAX_WATCHED))
    files = [folder / OUTPUT / entry.name for entry in found if entry.kind is file_tree.Kind.FILE]
    return f"{_size(files)} written, {_size(logs)} printed"


def _size(paths: Iterable[Path]) -> str:
    total = 0
    with suppress(OSError):  # a program may remove files while they are counted
        for path in paths:
            total += path.stat().st_size if path.is_file() else 0
    return f"{total / 1e6:,.1f} MB" if total >= 1e6 else f"{total / 1e3:.1f} kB"


def last_object(path: Path) -> dict[str, Any] | None:
    """The object on the last whole line of a file that is still being written; None where there is none."""
    try:
        # The program may have put a link or a pipe there: neither is followed or waited for.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as stream:
            stream.seek(max(0, stream.seek(0, os.SEEK_END) - _TAIL_BYTES))
            lines = stream.read(_TAIL_BYTES).split(b"\n")
        value = json.loads(lines[-2])
    except (OSError, ValueError, IndexError):
        return None
    return value if isinstance(value, dict) else None
