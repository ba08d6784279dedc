"""The lines of code at which a cause is, read from the program's own files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from reprokit.diagnosis import Cause
from reprokit.harness.diagnosing.diagnosis import Diagnosis
from reprokit.redaction import redact_text

_MOST_BYTES, _MOST_CHARACTERS = 4_000_000, 160
_BESIDE, _LONGEST_SECRET = 3, 200  # lines
_SEEDS = re.compile(r"seed\w*\s*[(=]|default_rng\(|RandomState\(|\bRandom\(|PRNGKey\(|Generator\(|PCG64\(")
_SEED_NOT_TIME = "take the seed from a setting in place of the time"


def with_source_lines(found: Diagnosis, *, below: Path | None = None) -> Diagnosis:
    """The answer with the lines of code of every cause.

    Args:
        found: The answer; the paths of its causes are those of the files as they lie here.
        below: Files elsewhere are not read. A program in a container, which names the file, can read nothing
            outside it; its report must not either. None for a program that ran as the caller.
    """
    return replace(found, causes=tuple(_with_lines(cause, below=below) for cause in found.causes))


def _with_lines(cause: Cause, *, below: Path | None) -> Cause:
    """The line, numbered from 1, and those around it, without secrets; as it was where there is none."""
    if not cause.file or not cause.line:
        return cause
    lines = _lines(Path(cause.file), below=below)
    if not 0 < cause.line <= len(lines):
        return cause
    line = lines[cause.line - 1].strip()
    return replace(
        cause,
        source=_short(redact_text(line)),
        fix=_SEED_NOT_TIME if cause.category == "clock" and _SEEDS.search(line) else cause.fix,
        around=_around(lines, cause.line),
        around_from=max(1, cause.line - _BESIDE),
    )


def _around(lines: Sequence[str], number: int) -> tuple[str, ...]:
    """The line and its neighbours; none where a secret of several lines is near: they may be part of it."""
    begin = max(0, number - 1 - _LONGEST_SECRET)
    block = lines[begin : number + _LONGEST_SECRET]
    shown = redact_text("\n".join(block)).split("\n")
    if len(shown) != len(block):
        return ()
    first = max(0, number - 1 - _BESIDE) - begin
    return tuple(_short(line.expandtabs(4)) for line in shown[first : number - begin + _BESIDE])


def _lines(path: Path, *, below: Path | None) -> list[str]:
    try:
        path = path.resolve()
        if below is not None and not path.is_relative_to(below.resolve()):
            return []
        if not path.is_file() or path.stat().st_size > _MOST_BYTES:
            return []
        return path.read_bytes().decode("utf-8", errors="replace").splitlines()
    except OSError:
        return []


def _short(text: str) -> str:
    return text if len(text) <= _MOST_CHARACTERS else f"{text[: _MOST_CHARACTERS - 1]}…"
