"""Ends a training after its first updates; the trainer is not told.

It ends at the first record of metrics after the last update that was asked for, or at the next update
where no metrics follow.

    >>> trace = FirstUpdatesTrace(run_dir / "trace.jsonl", max_updates=3)
    >>> metrics = FirstUpdatesMetrics(run_dir / "metrics.jsonl", trace=trace)

Such a run is incomplete. Its process always exits with ``STOPPED_EARLY``, so the host never closes its
folder with COMPLETE, and it can never be judged, promoted or taken for a whole one.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from reprokit.runtime.metrics import MetricsWriter
from reprokit.runtime.trace import Trace


class EnoughUpdates(BaseException):
    """Ends the training; not an Exception, so that a trainer's own ``except Exception`` lets it pass."""


class FirstUpdatesTrace(Trace):
    """A trace that takes so many updates and no more.

    Args:
        path: The new file.
        max_updates: How many, 1 or more.
    """

    def __init__(self, path: Path, *, max_updates: int) -> None:
        super().__init__(path)
        self.max_updates = max_updates

    @property
    def full(self) -> bool:
        """Whether every update that was asked for is there."""
        return self.updates >= self.max_updates

    def update(self, *, step: int, **state: Any) -> None:
        """As ``Trace.update``, or the end.

        Raises:
            EnoughUpdates: All updates are there.
        """
        if self.full:
            raise EnoughUpdates
        super().update(step=step, **state)


class FirstUpdatesMetrics(MetricsWriter):
    """Metrics that end the training once they follow the last update.

    Args:
        path: The new file.
        trace: Says whether every update is there.
    """

    def __init__(self, path: Path, *, trace: FirstUpdatesTrace) -> None:
        super().__init__(path)
        self._trace = trace

    def write(self, *, step: int, **metrics: float) -> None:
        """As ``MetricsWriter.write``, and then perhaps the end.

        Raises:
            EnoughUpdates: All updates are there.
        """
        super().write(step=step, **metrics)
        if self._trace.full:
            raise EnoughUpdates
