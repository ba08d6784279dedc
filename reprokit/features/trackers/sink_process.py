"""The process that follows one run: what is appended to its metrics goes on to TensorBoard and W&B.

It reads lines of JSON from its standard input: that the run has ended, and the tags that its report gives it.
The end of that input ends it, too. Each sink that fails is left out, with a line that begins with ``sink``.
"""

from __future__ import annotations

import json
import os
import select
import stat
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from reprokit.adapters.jsonl.jsonl_line import read_line
from reprokit.features.trackers.to_tensorboard import LiveEvents
from reprokit.features.trackers.to_wandb import LiveOfflineRun
from reprokit.layout import METRICS, OUTPUT

_EVERY_S = 0.5
_BLOCK_BYTES = 1 << 20


class Sink(Protocol):
    """A place that records go to."""

    def write(self, step: int, values: Mapping[str, float]) -> None:
        """One record."""

    def close(self, tags: Mapping[str, str]) -> None:
        """What is said of the run, and the end of the log."""


SINKS: Mapping[str, Callable[[Path, Path], Sink]] = {"tensorboard": LiveEvents, "wandb": LiveOfflineRun}


@dataclass(slots=True, kw_only=True)
class Followed:
    """The metrics of a run, as far as they were read.

    ``is_live``: what stands in ``output/`` is what will be recorded; a program's own file may be another.
    """

    run: Path
    is_live: bool = True
    offset: int = 0
    rest: bytes = b""

    def new(self) -> list[tuple[int, dict[str, float]]]:
        """Step and numbers of each record that was added; a line that is not whole yet is left for later."""
        records: list[tuple[int, dict[str, float]]] = []
        while block := self._read():
            self.offset += len(block)
            *lines, self.rest = (self.rest + block).split(b"\n")
            records += filter(None, map(_record, lines))
        return records

    def _read(self) -> bytes:
        """A run that has ended has its metrics next to ``output/``; no link or pipe is opened."""
        for path in (self.run / METRICS, *([self.run / OUTPUT / METRICS] if self.is_live else [])):
            try:
                opened = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            except OSError:
                continue
            try:
                if stat.S_ISREG(os.fstat(opened).st_mode):
                    return os.pread(opened, _BLOCK_BYTES, self.offset)
            finally:
                os.close(opened)
        return b""


def follow(
    metrics: Followed, place: Path, names: Sequence[str], *, said: Callable[[float], Mapping[str, Any]]
) -> None:
    """Follow a run until its tags are told.

    Args:
        metrics: Those of the run.
        place: Where logs go.
        names: The sinks.
        said: Waits so many seconds for what the process that makes the runs says; ``tags`` come last.
    """
    sinks: dict[str, Sink] = {}
    for name in names:
        with _guarded(name, sinks):
            sinks[name] = SINKS[name](metrics.run, place)
    tags: Mapping[str, str] | None = None
    while tags is None:
        tags = said(_EVERY_S).get("tags")
        for step, values in metrics.new():
            for name, sink in list(sinks.items()):
                with _guarded(name, sinks):
                    sink.write(step, values)
    for name, sink in list(sinks.items()):
        with _guarded(name, sinks):
            sink.close(tags)


def main() -> None:
    """Follow the run that the command line names."""
    run, place, is_live, *names = sys.argv[1:]
    follow(Followed(run=Path(run), is_live=is_live == "live"), Path(place), names, said=_Input().wait)


@contextmanager
def _guarded(name: str, sinks: dict[str, Sink]) -> Iterator[None]:
    """A fault of one sink costs neither the others nor anything else."""
    try:
        yield
    except Exception as error:  # whatever a library does
        sinks.pop(name, None)
        told = " ".join(str(error).split()) or type(error).__name__
        sys.stderr.write(f"sink {name}: {told}\n")


def _record(line: bytes) -> tuple[int, dict[str, float]] | None:
    found = read_line(line, number=1).record if line.strip() else None
    step = None if found is None else found.get("step")
    if found is None or type(step) is not int:
        return None
    numbers = {
        name: float(value)
        for name, value in found.items()
        if name != "step" and isinstance(value, int | float) and not isinstance(value, bool)
    }
    return step, numbers


class _Input:
    """Lines of the standard input, read without waiting longer than is asked for."""

    def __init__(self) -> None:
        self._held = b""

    def wait(self, seconds: float) -> Mapping[str, Any]:
        until = time.monotonic() + seconds
        while b"\n" not in self._held:
            ready, _, _ = select.select([0], [], [], max(0.0, until - time.monotonic()))
            if not ready:
                return {}
            block = os.read(0, _BLOCK_BYTES)
            if not block:
                return {"tags": {}}
            self._held += block
        line, _, self._held = self._held.partition(b"\n")
        found: Mapping[str, Any] = json.loads(line)
        return found
