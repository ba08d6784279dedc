"""Kills a training at a given step, to test what it leaves behind and whether it can be resumed.

    >>> metrics = StoppingMetrics(run_dir / "metrics.jsonl", stop_at=20_480)

It is killed right after the record of metrics at or after the step, before whatever the trainer does next
(a checkpoint of that step is not written), by a SIGKILL that it sends to itself: nothing can be caught or
flushed, as when a scheduler or the kernel ends it, but always at the same place.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

from reprokit.runtime.metrics import MetricsWriter


class StoppingMetrics(MetricsWriter):
    """Metrics whose writer is killed by the record at or after a step.

    Args:
        path: The new file.
        stop_at: The step.
    """

    def __init__(self, path: Path, *, stop_at: int) -> None:
        super().__init__(path)
        self.stop_at = stop_at

    def write(self, *, step: int, **metrics: float) -> None:
        """As ``MetricsWriter.write``; does not return at or after the step."""
        super().write(step=step, **metrics)
        if step >= self.stop_at:
            os.kill(os.getpid(), signal.SIGKILL)
