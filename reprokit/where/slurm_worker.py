"""What of a task runs in a job of Slurm: the command as a process with exactly the caller's variables."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_LOOK_S = 0.2


@dataclass(frozen=True, kw_only=True)
class Command:
    """A command that submitit carries to a machine.

    Slurm's SIGTERM reaches the command itself, which closes its run; submitit ignores it meanwhile.
    """

    words: tuple[str, ...]
    environment: Mapping[str, str]
    folder: str
    log: str
    timeout_s: float | None

    def __call__(self) -> int:
        """Carry it out; returns its exit code."""
        asked = threading.Event()
        # Sent before the time limit: the run is closed while there is time, and not requeued by submitit.
        signal.signal(signal.SIGUSR2, lambda *_signal: asked.set())
        with Path(self.log).open("ab") as stream:
            process = subprocess.Popen(
                [*self.words, "--node", os.environ.get("SLURMD_NODENAME", "")],
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
                env=dict(self.environment),
            )
            while process.poll() is None:
                if asked.wait(_LOOK_S):
                    process.terminate()
                    return process.wait()
            return process.returncode
