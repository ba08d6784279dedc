"""Runs pip, uv and mmdebstrap: output line by line, and the end of it when they fail."""

from __future__ import annotations

import collections
import contextlib
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from reprokit import extras

_TAIL_LINES = 200
_STOP_S = 10.0


def uv_program() -> str:
    """The path of uv.

    Raises:
        MissingExtraError: The package is not installed.
    """
    extras.must_have("uv")
    import uv  # noqa: PLC0415  (an extra)

    return uv.find_uv_bin()


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandResult:
    """How a command ended, and the end of what it printed (both streams, in order)."""

    exit_code: int
    tail: tuple[str, ...]

    @property
    def last_lines(self) -> str:
        """A few lines for an error message."""
        return "\n".join(line for line in self.tail[-8:] if line.strip())


def run_command(
    command: Sequence[str],
    *,
    environment: Mapping[str, str] | None = None,
    stdin: BinaryIO | None = None,
    folder: Path | None = None,
    on_line: Callable[[str], None] = lambda _line: None,
) -> CommandResult:
    """Run a command to its end; if this process is interrupted, the command is stopped first.

    Raises:
        FileNotFoundError: There is no such command.
    """
    tail: collections.deque[str] = collections.deque(maxlen=_TAIL_LINES)
    with subprocess.Popen(
        command,
        env=None if environment is None else dict(environment),
        cwd=folder,
        stdin=subprocess.DEVNULL if stdin is None else stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
    ) as process:
        try:
            for line in process.stdout or ():
                tail.append(line.rstrip("\n"))
                on_line(tail[-1])
        except BaseException:
            _stop(process)
            raise
    return CommandResult(exit_code=process.returncode, tail=tuple(tail))


@contextlib.contextmanager
def heartbeat(on_progress: Callable[[str], None], what: str, *, every_s: float = 10.0) -> Iterator[None]:
    """Report ``what`` at once, and again with the elapsed seconds, from a second thread, until it ends."""
    on_progress(what)
    started, ended = time.monotonic(), threading.Event()

    def beat() -> None:
        while not ended.wait(every_s):
            on_progress(f"{what} ({time.monotonic() - started:.0f} s)")

    thread = threading.Thread(target=beat, name="heartbeat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _stop(process: subprocess.Popen[str]) -> None:
    process.terminate()
    try:
        process.wait(timeout=_STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
