r"""Metrics in what a program printed, found by a recipe's regular expressions.

A pattern can take hours on a line that was made for it, so a process of its own searches, with a time limit.
A log that is not searched to its end proves nothing: that is an error.

    >>> read(Path("stdout.log"), [r"step (?P<step>\d+) loss (?P<loss>\S+)"])[0].record
    {'step': 1, 'loss': 0.25}
"""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from reprokit.adapters.jsonl.jsonl_file import MAX_LINE_BYTES
from reprokit.adapters.printed import printed_search
from reprokit.adapters.reading import Note, Reading, integer, open_file
from reprokit.errors import MetricsError

MAX_INTEGER_DIGITS = 640
#: Seconds of processor time for a log, and for each MiB of it.
_SECONDS, _SECONDS_A_MIB = 20.0, 2.0
_NUMBER = re.compile(r"[-+]?(?:\d++(?:_\d++)*+(?:\.\d*+)?|\.\d++)(?:[eE][-+]?\d++)?", re.ASCII)
_INTEGER = re.compile(r"[-+]?[\d_]++", re.ASCII)
#: Other commas may be decimal ones: 0,5 is not 5.
_WITH_COMMAS = re.compile(r"[-+]?\d{1,3}(?:,\d{3})++(?:\.\d*+)?", re.ASCII)
_NOT_FINITE = frozenset({"nan", "inf", "+inf", "-inf", "infinity", "-infinity"})


def read(log: Path, patterns: Sequence[str]) -> list[Reading]:
    """A record for each line that a pattern fits; a bar that was drawn again counts as a line each time.

    Raises:
        MetricsError: The log cannot be read, a pattern takes too long on it, or begins or ends inside a
            number.
    """
    descriptor = open_file(log)
    limit_s = _SECONDS + _SECONDS_A_MIB * (log.stat().st_size >> 20)
    asked = {"patterns": list(patterns), "limit_s": limit_s, "line_bytes": MAX_LINE_BYTES}
    with open(descriptor, "rb") as content:  # noqa: PTH123  a descriptor, opened with all checks
        ended = subprocess.run(
            [sys.executable, "-I", "-S", printed_search.__file__, json.dumps(asked)],
            stdin=content,
            capture_output=True,
            check=False,
        )
    if ended.returncode:
        fix = "write a pattern with fewer .* and without a repetition inside a repetition"
        what = f"the patterns under `printed` were not searched to the end: {_reason(ended, limit_s)}"
        raise MetricsError(what, where=log.name, fix=fix)
    return [_reading(json.loads(line), log=log) for line in ended.stdout.splitlines()]


def _reason(ended: subprocess.CompletedProcess[bytes], limit_s: float) -> str:
    if ended.returncode == printed_search.TOO_SLOW:
        limits = f"{limit_s:g} s of processor time, or {3 * limit_s:g} s by the clock"
        return f"more than {limits}, in line {ended.stderr.decode('ascii', 'replace')[:20]}"
    return f"exit status {ended.returncode}"


def _reading(found: Sequence[Any], *, log: Path) -> Reading:
    number, groups, cut = found
    if cut is not None:
        name, side = cut
        beside = f"before {groups[name][:40]!r}" if side == "begins" else f"after {groups[name][-40:]!r}"
        raise MetricsError(
            f"the pattern under `printed` for {name} {side} inside a number, {beside}",
            where=f"{log.name}:{number}",
            fix=f"make it match the whole number with its sign, as (?P<{name}>\\S+) does after a space",
        )
    if groups is None:
        return Reading(line=number, record=None, notes=(("line_too_long", ""),))
    notes: list[Note] = []
    record: Mapping[str, Any] = {name: _number(text, notes) for name, text in groups.items()}
    return Reading(line=number, record=record, notes=tuple(notes))


def _number(text: str, notes: list[Note]) -> int | float | str | None:
    """A number with the digits that were printed, else the text itself."""
    word = text.strip().rstrip(",")
    if _WITH_COMMAS.fullmatch(word):
        word = word.replace(",", "")
    if word.lower() in _NOT_FINITE:
        return float(word)
    if not _NUMBER.fullmatch(word):
        return text
    if _INTEGER.fullmatch(word):
        if len(word) <= MAX_INTEGER_DIGITS:
            return integer(word)
        notes.append(("integer_too_long", f"{len(word):,} digits"))
        return None
    value = float(word)
    if math.isinf(value):
        notes.append(("number_overflow", word[:40]))
    return value
