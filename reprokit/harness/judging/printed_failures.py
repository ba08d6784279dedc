"""Logs that end with an error though the program ended with exit code 0: a pipe or a shell hid that.

>>> failure_at_end(["Traceback (most recent call last):", '  File "train.py", line 3', "ValueError: odd"])
'ValueError: odd'
>>> failure_at_end(["step 1", "panic: index out of range", "", "goroutine 1 [running]:", "main.main()"])
'panic: index out of range'
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
_BEGIN = re.compile(r"Traceback \(most recent call last\):|  \+ Exception Group Traceback .*:")
_ERROR = re.compile(r"[A-Za-z_][\w.]*(?:: .*)?")
_OF_A_GROUP = re.compile(r"\s*(?:\||\+[-+])")
#: A module that Python cannot read has no traceback.
_UNREADABLE = re.compile(r"(?:Syntax|Indentation|Tab)Error: .+")
_PLACE = re.compile(r'\s+File ".+", line \d+')
_SIGNAL = r"(?:Segmentation fault|Aborted|Killed|Bus error|Illegal instruction|Floating point exception)"
#: How programs in other languages, and what shells print of them, begin to fail.
_ELSEWHERE = re.compile(
    r"(?:panic|fatal error): .+|"  # Go
    r"thread '.*' (?:\(\d+\) )?panicked at .+|"  # Rust
    r"Exception in thread \".*\" .+|"  # Java
    r"Unhandled exception\. .+|"  # .NET
    r"terminate called .+|free\(\): .+|malloc\(\): .+|\*\*\* .+ \*\*\*: terminated|"  # C and C++
    r"(?:Uncaught )?(?:[A-Z]\w*)?Error: .+(?=\n\s+at )|"  # JavaScript
    r"Error in .+|Error: .+(?=\n(?:.*\n)*Execution halted)|"  # R
    r"ERROR: (?:LoadError: )?.+(?=\nStacktrace:)|"  # Julia
    rf"\S+: line \d+:\s+\d+ {_SIGNAL}\s.*|{_SIGNAL}(?: \(core dumped\))?(?:\n|$)"
)
#: What programs print last when they give up; a number, or none, after "error" is a result.
_GAVE_UP = re.compile(
    r"(?:\S+: )?(?:fatal(?: error)?|error|Fatal(?: error)?|Error|FATAL(?: ERROR)?|ERROR): "
    r"(?!(?i:nan|inf|none|no errors?|zero)\b)[^\d\s.+-].*"
)
#: What follows such a line and belongs to it.
_FRAME = re.compile(
    r"\s.*||goroutine .*|created by .*|note: .*|exit status \d+|Node\.js .*|Stacktrace:|Execution halted|"
    r"Calls: .*|Caused by: .*|in expression starting at .*|[\w./*()]+\(.*\)|\[signal .*"
)


def printed_failures(stored: Sequence[StoredRun]) -> dict[str, str]:
    """File → the error with which it ends, of runs that are complete."""
    return {
        file.relative_to(run.path).as_posix().removeprefix(f"{OUTPUT}/"): error
        for run in stored
        if run.complete
        for file in _logs(run.path)
        if (error := failure_at_end(_last_lines(file)))
    }


def failure_at_end(lines: Sequence[str]) -> str:
    """The error with which lines end, but for a few: the exception of a traceback; "" where with none."""
    return _python(lines) or _unreadable(lines) or _elsewhere(lines) or _gave_up(lines)


def _python(lines: Sequence[str]) -> str:
    begins = [number for number, line in enumerate(lines) if _BEGIN.fullmatch(line)]
    if not begins or (begins[-1] and lines[begins[-1] - 1].startswith("Exception ignored")):
        return ""
    below = lines[begins[-1] + 1 :]
    if lines[begins[-1]].startswith(" "):  # of a group, whose own exception comes first
        below = [line.removeprefix("  | ") for line in below]
        below = [line for line in below if not _OF_A_GROUP.match(line)]
    error, *after = [line for line in below if line[:1].strip()] or [""]
    return error[:_MOST_CHARS] if len(after) <= _MOST_LINES_AFTER and _ERROR.fullmatch(error) else ""


def _unreadable(lines: Sequence[str]) -> str:
    for number in range(len(lines) - 1, -1, -1):
        if _UNREADABLE.fullmatch(lines[number]):
            has_place = any(_PLACE.match(line) for line in lines[max(0, number - 4) : number])
            after = [line for line in lines[number + 1 :] if line.strip()]
            return lines[number][:_MOST_CHARS] if has_place and len(after) <= _MOST_LINES_AFTER else ""
    return ""


def _gave_up(lines: Sequence[str]) -> str:
    last = next((line for line in reversed(lines) if line.strip()), "")
    return last[:_MOST_CHARS] if _GAVE_UP.fullmatch(last) else ""


def _elsewhere(lines: Sequence[str]) -> str:
    for number in range(len(lines) - 1, -1, -1):
        if found := _ELSEWHERE.match("\n".join(lines[number:])):
            after = [line for line in lines[number + 1 :] if not _FRAME.fullmatch(line)]
            is_whole = found.end() >= len(lines[number])
            return found[0].rstrip()[:_MOST_CHARS] if is_whole and len(after) <= _MOST_LINES_AFTER else ""
    return ""


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
