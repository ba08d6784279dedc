"""What a trainer is handed: its seed, its device, and where its records go.

>>> with Run.open(run_dir, seed=42, device="cpu", clock=time.perf_counter) as run:
...     train(config, run)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import torch

from reprokit.layout import CHECKPOINTS, METRICS, TIMING, TRACE, rank_trace
from reprokit.runtime import checkpoint, devices
from reprokit.runtime.checkpoint import CheckpointStore
from reprokit.runtime.first_updates import FirstUpdatesMetrics, FirstUpdatesTrace
from reprokit.runtime.metrics import MetricsWriter, TimingWriter
from reprokit.runtime.rank_settings import RankSettings, own_folder
from reprokit.runtime.ranks import RankCheckpoints, Ranks
from reprokit.runtime.seeding import Seeding
from reprokit.runtime.stopping import StoppingMetrics
from reprokit.runtime.trace import Trace


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run, seen from inside. A context manager that closes its files.

    Attributes:
        dir: The only folder that the program may write to.
        device: What to compute on.
        seeding: Derives and hands out seeds.
        metrics: ``metrics.jsonl``: what must repeat.
        timing: ``timing.jsonl``: what does not.
        trace: ``trace.jsonl``: digests after every update.
        checkpoints: ``checkpoints/``.
        ranks: The other processes that train this model too, if any.
        resume_from: The checkpoint to go on from, or None to start anew.
        data: Name → file of every data set that the recipe declares, its digest checked.
    """

    dir: Path
    device: torch.device
    seeding: Seeding
    metrics: MetricsWriter
    timing: TimingWriter
    trace: Trace
    checkpoints: CheckpointStore
    ranks: Ranks
    resume_from: Path | None = None
    data: Mapping[str, Path] = field(default_factory=dict)

    @classmethod
    def open(  # noqa: PLR0913 - one keyword for each thing that a run follows from
        cls,
        run_dir: Path,
        *,
        seed: int,
        device: str,
        clock: Callable[[], float],
        rank: int = 0,
        ranks: RankSettings | None = None,
        meeting: Path | None = None,
        resume_from: Path | None = None,
        max_updates: int | None = None,
        stop_at: int | None = None,
        data: Mapping[str, Path] | None = None,
        keep_checkpoints: int | None = None,
        profile_step: int | None = None,
    ) -> Self:
        """Open the records of a run in an existing folder that has none yet.

        Args:
            run_dir: The folder.
            seed: The run's seed, not negative.
            device: ``cpu``, ``cuda`` or ``tpu``.
            clock: Seconds, for ``timing.jsonl``.
            rank: Number of this process among those that train together.
            ranks: How many these are, and how they train; None for a process that trains alone.
            meeting: The folder where they meet, and where all but the first write what they write twice.
            resume_from: A checkpoint, or None.
            max_updates: End the training after so many (``first_updates``); None for all of it.
            stop_at: Be killed at this step (``stopping``); None to live.
            data: Name → file of each data set, its digest checked.
            keep_checkpoints: How many of the last checkpoints stay; None for all.
            profile_step: Look at the update that begins at or after it (``profiling``); None for no look.

        Raises:
            CannotRunError: There is no such device here.
            WorkspaceError: The folder cannot be written, or holds records already.
        """
        found = devices.opened(device)
        own = run_dir if not rank or meeting is None else own_folder(meeting, rank)
        metrics, trace = _records(
            own,
            run_dir / (rank_trace(rank) if rank else TRACE),
            max_updates=max_updates,
            stop_at=None if rank else stop_at,  # one that is killed takes the others with it
            profile_step=None if rank else profile_step,
        )
        together = Ranks(trace, ranks, rank=rank, meeting=meeting)
        folder, before = own / CHECKPOINTS, trace.flush
        store = CheckpointStore(folder, keep=keep_checkpoints, before=before)
        if ranks is not None:
            store = RankCheckpoints(folder, keep=keep_checkpoints, before=before, ranks=together)
        return cls(
            dir=own,
            device=found,
            seeding=Seeding(seed=seed, rank=rank),
            metrics=metrics,
            timing=TimingWriter(own / TIMING, clock=clock),
            trace=trace,
            checkpoints=store,
            ranks=together,
            resume_from=resume_from,
            data=dict(data or {}),
        )

    @property
    def seed(self) -> int:
        return self.seeding.seed

    def load_checkpoint(self) -> dict[str, Any] | None:
        """The checkpoint to go on from, or None for a run that starts anew.

        Raises:
            CannotRunError: It cannot be read, is no checkpoint, or one of other ranks.
        """
        return None if self.resume_from is None else self.ranks.own(checkpoint.load(self.resume_from))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for writer in (self.metrics, self.timing, self.trace):
            writer.close()


def _records(
    run_dir: Path, traced: Path, *, max_updates: int | None, stop_at: int | None, profile_step: int | None
) -> tuple[MetricsWriter, Trace]:
    """The two files that must repeat."""
    if stop_at is not None:
        return StoppingMetrics(run_dir / METRICS, stop_at=stop_at), Trace(traced)
    if profile_step is not None:
        from reprokit.probes import profiling  # noqa: PLC0415 - no probe is loaded where nobody asked for it

        folder = run_dir / profiling.FOLDER
        looking = profiling.ProfilingTrace(traced, at_step=profile_step, folder=folder)
        return MetricsWriter(run_dir / METRICS), looking
    if max_updates is None:
        return MetricsWriter(run_dir / METRICS), Trace(traced)
    trace = FirstUpdatesTrace(traced, max_updates=max_updates)
    return FirstUpdatesMetrics(run_dir / METRICS, trace=trace), trace
