"""Writes ``metrics.jsonl`` (what must repeat) and ``timing.jsonl`` (what does not), append-only.

    >>> with MetricsWriter(run_dir / "metrics.jsonl") as metrics:
    ...     metrics.write(step=4096, **{"loss/policy": -0.0123})

A line is handed to the operating system in one call, unbuffered, so a killed program leaves whole
lines and at most one torn one at the end. Floats are written so that they read back as the same
bits (``repr``); NaN and infinities in the spelling that Python's json reads.
"""

from __future__ import annotations

import json
import numbers
import os
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from reprokit.errors import MetricsError, WorkspaceError

_NAME = re.compile(r"[^\s/]+(/[^\s/]+)+")


class LineWriter:
    """Appends records to a new file. A context manager.

    Args:
        path: The file; its folder is there, the file itself is not.

    Raises:
        WorkspaceError: The file is there already, or cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL
        try:
            self._file = os.open(path, flags, 0o644)
        except FileExistsError as error:
            fix = "give every run a folder of its own"
            raise WorkspaceError("the file is there already", where=str(path), fix=fix) from error
        except OSError as error:
            raise WorkspaceError(f"cannot be written: {error.strerror}", where=str(path)) from error

    def append(self, record: Mapping[str, Any]) -> None:
        """Write one record as one line.

        Raises:
            WorkspaceError: The disk is full or gone.
        """
        self.extend([record])

    def extend(self, records: Iterable[Mapping[str, Any]]) -> None:
        """Write records, a line each, in one call.

        Raises:
            WorkspaceError: The disk is full or gone.
        """
        lines = (json.dumps(record) + "\n" for record in records)
        rest = memoryview("".join(lines).encode("utf-8"))
        try:
            while rest:  # one call but for a signal or a disk that fills up
                rest = rest[os.write(self._file, rest) :]
        except OSError as error:
            raise WorkspaceError(f"cannot be written: {error.strerror}", where=str(self.path)) from error

    def close(self) -> None:
        """Close the file; safe to call twice."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class MetricsWriter(LineWriter):
    """Writes ``metrics.jsonl``: only quantities that must repeat, bit for bit."""

    def write(self, *, step: int, **metrics: float) -> None:
        """Write one record.

        Args:
            step: Environment steps (or examples, or tokens) so far; comes first in the record.
            metrics: ``group/name`` → a number; tensors and arrays of one element count as numbers.

        Raises:
            MetricsError: A name is not ``group/name``, or a value is not a number.
        """
        record: dict[str, Any] = {"step": _number("step", step)}
        for name, value in metrics.items():
            if not _NAME.fullmatch(name):
                raise MetricsError(f"{name!r} is no name for a metric", expected="group/name")
            record[name] = _number(name, value)
        self.append(record)


class TimingWriter(LineWriter):
    """Writes ``timing.jsonl``: how far and how fast; never part of equality.

    Args:
        path: The file.
        clock: Seconds from any origin, never going back (``time.perf_counter``).
    """

    def __init__(self, path: Path, *, clock: Callable[[], float]) -> None:
        super().__init__(path)
        self._clock = clock
        self._start = clock()
        self._first_step = 0

    def resume_at(self, step: int) -> None:
        """Count the speed from this step on, and from now on: the steps before it were done elsewhere."""
        self._first_step, self._start = step, self._clock()

    def write(self, *, step: int, total_steps: int, phase: str, **durations: float) -> None:
        """Write how far the program is.

        Args:
            step: Steps done; of a resumed run, counted from the start of training.
            total_steps: Steps to do.
            phase: ``train``, ``evaluate``, … in the trainer's words.
            durations: More numbers, for instance ``update_s``.
        """
        elapsed_s = self._clock() - self._start
        speed = (step - self._first_step) / elapsed_s if elapsed_s > 0 else 0.0
        record = {
            "step": step,
            "total_steps": total_steps,
            "phase": phase,
            "steps_per_s": round(speed, 1) if speed > 0 else None,
            "elapsed_s": round(elapsed_s, 4),
            "eta_s": round((total_steps - step) / speed, 2) if speed > 0 else None,
        }
        self.append({**record, **{name: round(float(value), 6) for name, value in durations.items()}})


def _number(name: str, value: Any) -> int | float:
    """A plain Python number with the same bits; tensors and arrays of one element have ``item``."""
    plain = value.item() if hasattr(value, "item") and not isinstance(value, numbers.Number) else value
    plain = plain.item() if hasattr(plain, "item") else plain
    if isinstance(plain, bool) or not isinstance(plain, int | float):
        raise MetricsError(f"{name} is no number", actual=f"{type(value).__name__} {value!r:.60}")
    return plain
