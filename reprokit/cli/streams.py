"""Standard streams that are closed, full or gone, and what the exit code is then.

An answer that could not be written is no answer: its exit code is never 0, and never 1, which says "differs".
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import sys
import textwrap
from types import TracebackType

import click

__all__ = ["exit_code_of", "fitted", "is_of_output", "must_be_open", "say"]

_CANNOT_WRITE = {
    errno.EPIPE,
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EFBIG,
    errno.EIO,  # of a terminal that was closed
    errno.EBADF,  # opened for reading only
}
_WRITERS = ("click", "rich", "reprokit.reports.progress", "reprokit.reports.terminal.to_terminal")
_READER_GONE = 141  # as shells say it: 128 + SIGPIPE
_FAILED = 3
_LEAST_COLUMNS = 40


def must_be_open() -> int:
    """Open what is closed of the three streams, so that no other file takes its number; 3 without stdout.

    Without standard error only messages are lost, and the answer is written as ever.
    """
    has_output = sys.stdout is not None
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            with contextlib.suppress(OSError):
                os.dup2(os.open(os.devnull, os.O_RDWR), number)
                setattr(sys, name, os.fdopen(number, "w" if number else "r", closefd=False))
    for stream in (sys.stdout, sys.stderr):
        if getattr(stream, "errors", None) == "strict":  # a terminal that has not all characters is no fault
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    if has_output:
        return 0
    say("Error: standard output is closed, so no answer could be written.")
    say("Hint: redirect it to a file, or to /dev/null")
    return _FAILED


def say(message: str) -> None:
    """Write a line to standard error, where that can be done: no exit code depends on it."""
    with contextlib.suppress(OSError, ValueError):
        click.echo(message, err=True)


def fitted(text: str) -> str:
    """The text, broken between words where standard error is a terminal; elsewhere as it is.

    There paths below the current folder are relative to it, or a line of their own would have no room.
    """
    if not sys.stderr.isatty():
        return text
    from pathlib import Path, PurePosixPath

    from reprokit.reports import shorten

    text = shorten.without(PurePosixPath(Path.cwd()))(text)
    columns = max(shutil.get_terminal_size().columns, _LEAST_COLUMNS)
    return "\n".join(
        textwrap.fill(line, columns, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
        for line in text.split("\n")
    )


def is_of_output(error: BaseException) -> bool:
    """Whether it was raised by writing to a standard stream, not to a file of ours."""
    if not isinstance(error, OSError) or error.errno not in _CANNOT_WRITE or error.filename is not None:
        return False
    name = _raised_in(error.__traceback__)
    return any(name == writer or name.startswith(f"{writer}.") for writer in _WRITERS)


def exit_code_of(error: BaseException) -> int:
    """What a command ends with whose answer cannot be written: 141 if its reader is gone, else 3."""
    if not isinstance(error, BrokenPipeError):
        say(f"Error: cannot write to standard output: {getattr(error, 'strerror', error)}")
    silence()
    return _READER_GONE if isinstance(error, BrokenPipeError) else _FAILED


def silence() -> None:
    """Send away what is still in the buffers, or Python fails once more when it flushes at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.__stdout__, sys.__stderr__):
        with contextlib.suppress(OSError, ValueError):
            if stream is not None:
                os.dup2(nowhere, stream.fileno())


def _raised_in(trace: TracebackType | None) -> str:
    name = ""
    while trace is not None:
        name, trace = str(trace.tb_frame.f_globals.get("__name__", "")), trace.tb_next
    return name
