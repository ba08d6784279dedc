"""Follows the metrics of runs while they train, and stops all of them once they differ from the golden.

What it stops is judged from the run folders. Where it cannot read or compare, the runs go to their end.
"""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Self

from reprokit import adapters
from reprokit.adapters.jsonl.jsonl_line import read_line
from reprokit.compressed import open_stored
from reprokit.core.comparison import Comparison, Tolerances, compare_records
from reprokit.core.records import Outcome
from reprokit.errors import MetricsError
from reprokit.execution.outcome import Explanation
from reprokit.layout import METRICS, OUTPUT

if TYPE_CHECKING:
    from reprokit.core.environment_record import EnvironmentRecord

_BLOCK_BYTES = 1 << 20
_MOST_BLOCKS = 16  # at one look: a program that writes faster than it is read must still be timed out
_LONGEST_LINE_BYTES = 4 << 20
_WHOLE = "make whole runs: `reprokit reproduce RECIPE`, or `reprokit verify --no-watch-golden`"


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedGolden:
    """The metrics that the runs are compared with, and how far each may be off."""

    metrics: Path
    tolerances: Tolerances


#: From the environment record of a run that has begun to its golden; None where there is none to stop at.
FindGolden = Callable[["EnvironmentRecord"], WatchedGolden | None]


@dataclass(slots=True)
class _Followed:
    """How far the metrics of one run were read."""

    folder: Path | None = None  # None until it trains
    offset: int = 0
    rest: bytes = b""  # of a line that is not whole yet
    records: int = 0
    differs_at: int | None = None  # position of its first record that is not the golden's
    expected: Iterator[bytes] = field(default_factory=lambda: iter(()))

    @property
    def metrics(self) -> Path:
        """Where its metrics lie: a run that has ended has them next to ``output/``."""
        folder = self.folder or Path()
        return folder / METRICS if (folder / METRICS).exists() else folder / OUTPUT / METRICS


class GoldenWatch:
    """Says when every run of a plan has passed the first record that differs from the golden.

    Safe to call from the threads of several runs. A context manager: it holds the golden's file open.

    Args:
        runs: The id of every run that must have passed it.
        find: Finds the golden.
        note: Told where the watch ends because something could not be read.
    """

    def __init__(self, runs: Sequence[str], *, find: FindGolden, note: Callable[[str], None]) -> None:
        self._followed = {run: _Followed() for run in runs}
        self._find: FindGolden | None = find if len(runs) > 1 else None
        self._note = note
        self._golden: WatchedGolden | None = None
        self._why_stop: Explanation | None = None
        self._lock = threading.Lock()
        self._opened = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._opened.close()

    def look(
        self, run: str, folder: Path, *, environment: Callable[[], EnvironmentRecord]
    ) -> Explanation | None:
        """Read what a run has added to its metrics; why it is to be stopped, or None.

        Args:
            run: The run's id.
            folder: Its folder, while its program writes to ``output/``.
            environment: Gives what is known of its environment record once it has metrics.
        """
        with self._lock:
            if self._find is None or self._why_stop is not None:
                return self._why_stop
            try:
                self._read_on(self._followed[run], folder, environment)
                self._decide()
            except Exception as error:  # a fault of the watch must cost no run, and no verdict
                self._end_watch()
                self._note(f"the golden is no longer watched, so the runs continue to their end: {error}")
            return self._why_stop

    def _end_watch(self) -> None:
        self._find = None

    def _read_on(self, run: _Followed, folder: Path, environment: Callable[[], EnvironmentRecord]) -> None:
        if run.folder is None:
            if not (folder / OUTPUT / METRICS).exists():
                return
            self._golden = self._golden or (self._find and self._find(environment()))
            if self._golden is None:
                self._end_watch()
                return
            run.folder = folder
            run.expected = iter(self._opened.enter_context(open_stored(self._golden.metrics)))
        for _ in range(_MOST_BLOCKS):
            if not (new := _appended(run.metrics, run.offset)):
                break
            run.offset += len(new)
            *lines, run.rest = (run.rest + new).split(b"\n")
            if len(run.rest) > _LONGEST_LINE_BYTES:
                raise MetricsError("a line is too long", where=str(run.metrics))
            for line in lines:
                self._see(run, line)

    def _see(self, run: _Followed, line: bytes) -> None:
        """Compare one more record; of one that is equal to the golden's byte for byte nothing is parsed."""
        if run.differs_at is None:
            expected = next(run.expected, None)
            if expected is None or (expected.rstrip(b"\n") != line and self._is_beyond(expected, line)):
                run.differs_at = run.records
        run.records += 1

    def _is_beyond(self, expected: bytes, line: bytes) -> bool:
        pair = [read_line(one.rstrip(b"\n"), number=1).record for one in (expected, line)]
        if pair[0] is None or pair[1] is None:
            raise MetricsError("a record cannot be read")
        tolerances = self._golden.tolerances if self._golden else None
        return _differs(compare_records([pair[0]], [pair[1]], tolerances=tolerances))

    def _decide(self) -> None:
        """Stop where all have passed the first difference, and the judge will see it in what they have."""
        every = list(self._followed.values())
        first = min((run.differs_at for run in every if run.differs_at is not None), default=None)
        if first is None or self._golden is None or any(run.records <= first for run in every):
            return
        ours, *others = (run.metrics for run in every)
        against = adapters.compare_first(
            self._golden.metrics, ours, records=first + 1, tolerances=self._golden.tolerances
        )
        pairs = (adapters.compare_first(ours, other, records=first + 1) for other in others)
        if not _differs(against) and not any(pair.comparable and not pair.identical for pair in pairs):
            self._end_watch()
            return
        step = against.divergence.step if against.divergence else None
        place = f"record {first}" + (f", step {step}" if step is not None else "")
        self._why_stop = Explanation(
            outcome=Outcome.STOPPED_AT_GOLDEN,
            message=f"it was stopped at the first difference from the golden: {place}",
            remedy=_WHOLE,
        )


def _differs(comparison: Comparison) -> bool:
    return comparison.comparable and not comparison.within_tolerance


def _appended(path: Path, offset: int) -> bytes:
    """The bytes of a file from an offset on, one block at most.

    Raises:
        MetricsError: It is no regular file, or has become shorter.
        OSError: It cannot be read.
    """
    # The program may have put a link or a pipe there: neither is followed or waited for.
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb", buffering=0) as stream:
        found = os.fstat(stream.fileno())
        if not stat.S_ISREG(found.st_mode) or found.st_size < offset:
            raise MetricsError("not a file that grows", where=str(path))
        stream.seek(offset)
        return stream.read(_BLOCK_BYTES) or b""
