"""Logs that end with a traceback though the program ended with exit code 0: a pipe or a shell hid that.

>>> failure_at_end(["Traceback (most recent call last):", '  File "train.py", line 3', "ValueError: odd"])
'ValueError: odd'
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from reprokit.layout import OUTPUT
from reprokit.runs import StoredRun

_TAIL_BYTES = 8192
_MOST_FILES, _MOST_LINES_AFTER, _MOST_CHARS = 20, 3, 120
_ENDINGS = {".log", ".txt", ".out", ".err"}
_BEGIN = "Traceback (most recent call last):"
_ERROR = re.compile(r"[A-Za-z_][\w.]*(?:: .*)?")


def printed_failures(stored: Sequence[StoredRun]) -> dict[str, str]:
    """File → the last line of the traceback with which it ends, of runs that are complete."""
    return {
        file.relative_to(run.path).as_posix().removeprefix(f"{OUTPUT}/"): error
        for run in stored
        if run.complete
        for file in _logs(run.path)
        if (error := failure_at_end(_last_lines(file)))
    }


def failure_at_end(lines: Sequence[str]) -> str:
    """The exception of the traceback with which lines end, but for a few; "" where they end with none."""
    begins = [number for number, line in enumerate(lines) if line == _BEGIN]
    if not begins or (begins[-1] and lines[begins[-1] - 1].startswith("Exception ignored")):
        return ""
    error, *after = [line for line in lines[begins[-1] + 1 :] if line[:1].strip()] or [""]
    return error[:_MOST_CHARS] if len(after) <= _MOST_LINES_AFTER and _ERROR.fullmatch(error) else ""


def _logs(folder: Path) -> Iterator[Path]:
    """Those of what it printed, too, which the run folder holds beside a plain command's output."""
    files = (*sorted(folder.glob("*")), *sorted((folder / OUTPUT).glob("*")))
    yield from islice((file for file in files if file.suffix in _ENDINGS), _MOST_FILES)


def _last_lines(file: Path) -> list[str]:
    """Those of a regular file; none of any other."""
    if not file.is_file() or file.is_symlink():
        return []
    with file.open("rb") as stream:
        stream.seek(max(0, os.fstat(stream.fileno()).st_size - _TAIL_BYTES))
        return stream.read(_TAIL_BYTES).decode("utf-8", "replace").splitlines()
