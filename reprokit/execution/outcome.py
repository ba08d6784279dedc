"""Explains how a program ended: from exit code, signal and last output to an outcome, a message and a remedy.

>>> explain(Seen(exit_code=1, stderr_tail="ValueError: bad shape")).message
'the program ended with exit code 1: ValueError: bad shape'
"""

from __future__ import annotations

import errno
import re
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from reprokit.core.records import Outcome, RunResult
from reprokit.execution import launchers

_NEARLY_FULL_BYTES = 1 << 20
_MESSAGE_CHARS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramEnd:
    """What a backend saw of a program that has ended.

    Attributes:
        exit_code: What it returned, or None if a signal ended it.
        signal: Number of the signal that ended it, or None.
        out_of_memory: Evidence that it, or a process that it had started, was killed for lack of memory: one
            sentence, or "".
        stderr_tail: The end of what it printed to stderr.
        program: The first word of the command line.
        output: The folder it may write to, as the program sees it.
        free_bytes: Space left on the disk of ``output``, or None if not known.
    """

    exit_code: int | None = None
    signal: int | None = None
    out_of_memory: str = ""
    stderr_tail: str = ""
    program: str = ""
    output: str = ""
    free_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """An outcome with its sentence and its next step, both empty when completed."""

    outcome: Outcome
    message: str = ""
    remedy: str = ""


class StopRunError(Exception):
    """Raised by ``on_tick`` to end a run early; the backend stops the program, and ``why`` is its outcome."""

    def __init__(self, why: Explanation) -> None:
        self.why = why
        super().__init__(why.message)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopwatch:
    """When a run began; makes the RunResult when it has ended."""

    started_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    started_s: float = field(default_factory=time.monotonic)

    def elapsed_s(self) -> float:
        """Seconds since the start, unaffected by changes of the wall clock."""
        return time.monotonic() - self.started_s

    def result(
        self, why: Explanation, *, seen: ProgramEnd | None = None, isolation: Mapping[str, Any] | None = None
    ) -> RunResult:
        """The run's result, as of now."""
        return RunResult(
            outcome=why.outcome,
            exit_code=seen.exit_code if seen else None,
            signal=signal_name(seen.signal) if seen and seen.signal else None,
            message=why.message,
            remedy=why.remedy,
            started_at=self.started_at.isoformat(timespec="milliseconds"),
            ended_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
            duration_s=round(self.elapsed_s(), 6),
            isolation=dict(isolation or {}),
        )


def explain(seen: ProgramEnd) -> Explanation:
    """Explain how a program ended: the most reliable evidence first, the program's own output last."""
    if seen.out_of_memory:
        hidden = ", though the program ended with exit code 0" if seen.exit_code == 0 else ""
        return Explanation(
            outcome=Outcome.OUT_OF_MEMORY,
            message=f"out of memory: {seen.out_of_memory}{hidden}",
            remedy=_MORE_MEMORY,
        )
    if seen.exit_code == 0:
        return Explanation(outcome=Outcome.COMPLETED)
    if seen.signal:
        return _signalled(seen.signal)
    if seen.exit_code in {126, 127}:
        reason = _INIT_PREFIX.sub("", _last_line(seen.stderr_tail)) or f"exit code {seen.exit_code}"
        return command_missing(seen.program, reason)
    return _crashed(seen)


def timed_out(limit_s: float) -> Explanation:
    """The program was stopped because its time was up."""
    return Explanation(
        outcome=Outcome.TIMED_OUT,
        message=f"the program was still running after its limit of {limit_s:g} s and was stopped",
        remedy="raise the run's time limit, or look in stdout.log for where it hangs",
    )


def command_missing(program: str, reason: str) -> Explanation:
    """The program could not be started because it, or its interpreter, is not there."""
    return Explanation(
        outcome=Outcome.COMMAND_MISSING,
        message=_short(f"the command {program!r} could not be started: {reason}"),
        remedy="check the command's spelling, and that it is installed in the environment that runs it",
    )


def start_refused(reason: str, remedy: str = "") -> Explanation:
    """The engine or the operating system refused to start the program as asked."""
    return Explanation(
        outcome=Outcome.START_REFUSED,
        message=_short(f"the program was not allowed to start: {reason}"),
        remedy=remedy or "change the recipe's limits or mounts to what this host has (see reprokit doctor)",
    )


def cannot_write(path: str, error: OSError) -> Explanation:
    """The run folder cannot be written; a full disk is an outcome of its own."""
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return Explanation(
            outcome=Outcome.DISK_FULL,
            message=f"no space left on the disk of {path}",
            remedy="free some space (reprokit runs prune), or name another disk with --runs-dir",
        )
    return Explanation(
        outcome=Outcome.RUN_FOLDER_NOT_WRITABLE,
        message=f"the run folder cannot be written: {path}: {error.strerror or error}",
        remedy="make the folder writable for this user, or name another with --runs-dir",
    )


def signal_name(number: int) -> str:
    """``SIGKILL`` for 9; real-time and unknown signals by their number."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"SIG{number}"


def signal_of(exit_code: int) -> int | None:
    """The signal behind an exit code of 128 + n, as shells and a container's init report it.

    Real-time signals are left out: exit codes from 160 on are a program's own more often.
    """
    return exit_code - 128 if 128 < exit_code < 160 else None


def readable_size(num_bytes: int) -> str:
    """``64.0 MiB``, ``8.0 GiB``."""
    return f"{num_bytes / (1 << 30):.1f} GiB" if num_bytes >= 1 << 30 else f"{num_bytes / (1 << 20):.1f} MiB"


# What a container's init prints when it cannot start the program.
_INIT_PREFIX = re.compile(r"^\[FATAL tini \(\d+\)\] exec .* failed: ")

_SIGNAL_REMEDIES = {
    "SIGKILL": "find out who sent it: a job scheduler, a person, or the kernel for lack of memory (dmesg)",
    "SIGTERM": "find out who asked it to stop: a job scheduler, a shutdown or a person; then run it again",
    "SIGINT": "it was interrupted; run it again",
    "SIGHUP": "its terminal went away; run it again under a session that stays",
    "SIGILL": "the processor lacks an instruction that a library was built for: check the platform",
    "SIGBUS": "memory-mapped data went away, or shared memory is full: check disk and /dev/shm",
    "SIGXCPU": "a CPU time limit was reached (ulimit -t): raise it",
}
_NATIVE_CRASH = "native code crashed: run again with PYTHONFAULTHANDLER=1 to see in which Python line"

_MORE_MEMORY = "raise the run's memory limit, or make batches, models or worker counts smaller"

# Last lines of output with a known cause. The first match wins.
_LAST_WORDS: tuple[tuple[re.Pattern[str], Outcome, str], ...] = (
    (
        re.compile(r"CUDA out of memory|CUDA error: out of memory"),
        Outcome.OUT_OF_MEMORY,
        "make batches or models smaller, or free the GPU (nvidia-smi lists who uses it)",
    ),
    (
        re.compile(r"MemoryError\b|OutOfMemoryError|[Cc]an(?:'t|not) allocate memory"),
        Outcome.OUT_OF_MEMORY,
        _MORE_MEMORY,
    ),
    (
        re.compile(r"\[Errno (?:28|122)\]|No space left on device|Disk quota exceeded"),
        Outcome.DISK_FULL,
        "free space where the run folder lies; in a container /tmp and /dev/shm have limits of their own",
    ),
    (
        re.compile(r"\[Errno 30\]|Read-only file system"),
        Outcome.CRASHED,
        "write only below {run_dir} and the temporary folder: all else is read-only",
    ),
    (
        re.compile(r"\[Errno -3\]|\[Errno -2\]|Network is unreachable|name resolution|getaddrinfo failed"),
        Outcome.CRASHED,
        "training has no network in a container: fetch data beforehand and mount it",
    ),
    (
        re.compile(r"DataLoader worker .* is killed by signal: (?:Killed|Bus error)"),
        Outcome.OUT_OF_MEMORY,
        "raise the run's memory limit, or use fewer loader workers",
    ),
)


def _signalled(number: int) -> Explanation:
    name = signal_name(number)
    return Explanation(
        outcome=Outcome.SIGNALLED,
        message=f"the program was ended by {name}",
        remedy=_SIGNAL_REMEDIES.get(name, _NATIVE_CRASH),
    )


def _crashed(seen: ProgramEnd) -> Explanation:
    words = last_words(seen.stderr_tail)
    message = _short(f"the program ended with exit code {seen.exit_code}" + (f": {words}" if words else ""))
    if seen.output and seen.output in words and re.search(r"\[Errno (?:1|13|30)\]", words):
        return Explanation(
            outcome=Outcome.RUN_FOLDER_NOT_WRITABLE,
            message=message,
            remedy="make the run folder writable for this user, or name another with --runs-dir",
        )
    for pattern, outcome, remedy in _LAST_WORDS:
        if pattern.search(words):
            return Explanation(outcome=outcome, message=message, remedy=remedy)
    if seen.free_bytes is not None and seen.free_bytes < _NEARLY_FULL_BYTES:
        return Explanation(
            outcome=Outcome.DISK_FULL,
            message=f"{message} (and the disk of the run folder is full)",
            remedy="free some space (reprokit runs prune), or name another disk with --runs-dir",
        )
    return Explanation(outcome=Outcome.CRASHED, message=message, remedy="read the end of stderr.log")


def last_words(stderr_tail: str) -> str:
    """The line that says why: a traceback's exception and where it was raised, else the last line.

    Of several processes it is that of the one which ended first.
    """
    return launchers.root_cause(stderr_tail, words_of=_last_words) or _last_words(stderr_tail)


def _last_words(stderr_tail: str) -> str:
    lines = stderr_tail.splitlines()
    tracebacks = [i for i, line in enumerate(lines) if line.startswith("Traceback (most recent call last):")]
    of_the_program = [i for i in tracebacks if i == 0 or not lines[i - 1].startswith(_NOT_THE_END)]
    if not tracebacks:
        return _last_line(stderr_tail)
    place = ""
    for line in lines[(of_the_program or tracebacks)[-1] + 1 :]:
        frame = re.match(r'\s+File "(.*)", line (\d+)', line)
        if frame:
            place = f" ({frame[1]}:{frame[2]})"
        elif line and not line[0].isspace():
            return f"{line.strip()}{place}"
    return _last_line(stderr_tail)


# Tracebacks under these headings did not end the program: finalizers, and threads alongside the main one.
_NOT_THE_END = ("Exception ignored in", "Exception in thread")


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""


def _short(text: str) -> str:
    return text if len(text) <= _MESSAGE_CHARS else text[: _MESSAGE_CHARS - 1] + "…"
