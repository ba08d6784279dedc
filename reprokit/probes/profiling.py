"""Where a training spends its time: every Python function of it, and every operation of one update.

It draws no random number and touches no tensor, so no number changes.

    >>> with profiled(run.dir / "profile"):
    ...     train(config, run)

In the run folder, under ``profile/``: ``training.prof`` (``python -m pstats``),
``update.pt.trace.json`` (TensorBoard with its profiler plugin, or https://ui.perfetto.dev) and
``update.txt``, the operations of that update by CPU time.
"""

from __future__ import annotations

import contextlib
import cProfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch.profiler import ProfilerActivity

from reprokit.runtime.trace import Trace

FOLDER = "profile"
_ROWS = 100


@contextlib.contextmanager
def profiled(folder: Path) -> Iterator[None]:
    """Inside, every call of a Python function is counted and timed; ``training.prof`` holds it."""
    folder.mkdir(exist_ok=True)
    counted = cProfile.Profile()
    with counted:
        yield
    counted.dump_stats(folder / "training.prof")


class ProfilingTrace(Trace):
    """A trace that has torch's profiler look at the first update that begins at or after ``at_step``."""

    def __init__(self, path: Path, *, at_step: int, folder: Path) -> None:
        super().__init__(path)
        self._at_step, self._folder = at_step, folder
        self._looking: torch.profiler.profile | None = None
        self._looked = False

    def update(self, *, step: int, **state: Any) -> None:
        """As ``Trace.update``; what follows it is the next update."""
        if self._looking is not None:
            self._looking.stop()
            self._tell(self._looking)
            self._looking, self._looked = None, True
        super().update(step=step, **state)
        if step >= self._at_step and not self._looked:
            activities = [ProfilerActivity.CPU]
            activities += [ProfilerActivity.CUDA] if torch.cuda.is_available() else []
            self._looking = torch.profiler.profile(activities=activities)
            self._looking.start()

    def close(self) -> None:
        """As ``Trace.close``; an update that was never finished is not written."""
        if self._looking is not None:
            self._looking.stop()
            self._looking = None
        super().close()

    def _tell(self, seen: torch.profiler.profile) -> None:
        self._folder.mkdir(exist_ok=True)
        seen.export_chrome_trace(str(self._folder / "update.pt.trace.json"))
        table = seen.key_averages().table(sort_by="self_cpu_time_total", row_limit=_ROWS)
        (self._folder / "update.txt").write_text(table, encoding="utf-8")
