"""The line of code at which a cause is, read from the program's own files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from reprokit.harness.diagnosing.diagnosis import Diagnosis
from reprokit.redaction import redact_text

_MOST_BYTES, _MOST_CHARACTERS = 4_000_000, 160


def with_source_lines(found: Diagnosis, *, below: Path | None = None) -> Diagnosis:
    """The answer with the line of code of every cause.

    Args:
        found: The answer; the paths of its causes are those of the files as they lie here.
        below: Files elsewhere are not read. A program in a container, which names the file, can read nothing
            outside it; its report must not either. None for a program that ran as the caller.
    """
    causes = (
        replace(cause, source=_line(Path(cause.file), cause.line, below=below))
        if cause.file and cause.line
        else cause
        for cause in found.causes
    )
    return replace(found, causes=tuple(causes))


def _line(path: Path, number: int, *, below: Path | None) -> str:
    """One line, numbered from 1, without indentation and secrets; "" where there is none."""
    try:
        path = path.resolve()
        if below is not None and not path.is_relative_to(below.resolve()):
            return ""
        if not path.is_file() or path.stat().st_size > _MOST_BYTES:
            return ""
        lines = path.read_bytes().decode("utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    text = redact_text(lines[number - 1].strip()) if 0 < number <= len(lines) else ""
    return text if len(text) <= _MOST_CHARACTERS else f"{text[: _MOST_CHARACTERS - 1]}…"
