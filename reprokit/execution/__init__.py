"""Backends that run a program: one module each, behind one protocol."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from reprokit.core.records import RunResult, RunSpec

__all__ = ["Backend"]

TICK_S = 0.5


class Backend(Protocol):
    """One way to carry out a run."""

    name: str

    def run(self, spec: RunSpec, run_dir: Path, *, on_tick: Callable[[], None]) -> RunResult:
        """Run the program to its end, or say why it had none.

        Args:
            spec: What to run.
            run_dir: The run folder on the host. The program may write only to ``run_dir/output``
                (which exists); the backend writes ``stdout.log`` and ``stderr.log`` next to it.
            on_tick: Called about twice a second while the program runs, in the calling thread.
                Whatever it raises stops and removes the program, and is raised again: the way to
                stop a run from another thread. ``outcome.StopRunError`` is not raised again: the
                run ends as that says.

        Returns:
            How it ended. Failures of program, engine and disk are outcomes, not exceptions.

        Raises:
            KeyboardInterrupt: Interrupted; the program is stopped and removed first.
        """
