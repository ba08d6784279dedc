"""Whether files hold marks of redaction: values that were taken out of both sides cannot be compared."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from reprokit.adapters.jsonl.jsonl_file import MAX_LINE_BYTES
from reprokit.adapters.reading import MetricsSource, open_file
from reprokit.core import problems
from reprokit.core.comparing.difference import Problem
from reprokit.core.problems import ProblemLog
from reprokit.errors import MetricsError
from reprokit.redaction import MARK

_BLOCK_BYTES = 1 << 20


def warnings(pairs: Iterable[tuple[MetricsSource, MetricsSource]]) -> tuple[Problem, ...]:
    """A warning for each pair of files, and the side of it, that hold marks."""
    log = ProblemLog()
    for expected, actual in pairs:
        marked = [side for side, one in (("expected", expected), ("actual", actual)) if _holds_mark(one.path)]
        if marked:
            side = problems.BOTH if len(marked) > 1 else marked[0]
            log.add("redacted_values", side, detail=f"'{expected.name}'")
    return log.problems()


def _holds_mark(path: Path) -> bool:
    if not path.is_file():
        return False
    mark, before, num_of_line = MARK.encode(), b"", 0
    try:
        with os.fdopen(open_file(path), "rb") as file:
            file.seek(0)  # of a compressed file that was just unpacked
            while block := file.read(_BLOCK_BYTES):
                if mark in before + block:
                    return True
                before = block[-len(mark) :]
                num_of_line = 0 if b"\n" in block else num_of_line + len(block)
                if num_of_line > MAX_LINE_BYTES:  # no log: nothing after it was read
                    return False
    except MetricsError:  # a problem of the comparison
        return False
    return False
