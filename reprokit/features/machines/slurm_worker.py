"""What of a task runs in a job of Slurm: the command as a process with exactly the caller's variables."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

_LOOK_S = 0.2
_KILLED_WITHIN_S = 60.0


@dataclass(frozen=True, kw_only=True)
class SlurmCommand:
    """A command that submitit carries to a machine.

    Slurm's SIGTERM reaches the command itself, which closes its run; submitit ignores it meanwhile.
    """

    words: tuple[str, ...]
    environment: Mapping[str, str]
    folder: str
    log: str
    may_be_requeued: bool = False

    def __call__(self) -> int:
        """Carry it out; returns its exit code."""
        asked = threading.Event()
        # Sent 90 s before the time limit: the run is closed while there is time; submitit requeues nothing.
        signal.signal(signal.SIGUSR2, lambda *_signal: asked.set())
        with Path(self.log).open("ab") as stream:
            process = subprocess.Popen(
                [*self.words, "--node", os.environ.get("SLURMD_NODENAME", "")],
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
                env=dict(self.environment),
                preexec_fn=_ignore_the_warning,  # noqa: PLW1509 - there is one thread
            )
            while process.poll() is None:
                if asked.wait(_LOOK_S):
                    process.send_signal(signal.SIGUSR1)
                    process.wait()
                    self._requeue(stream)
            return process.returncode

    def _requeue(self, log: IO[bytes]) -> None:
        """Have Slurm begin this job again, where the run has a checkpoint to continue from."""
        job = os.environ.get("SLURM_JOB_ID")
        if not self.may_be_requeued or not job:
            return
        ask = [*self.words, "--ask-resume"]
        told = subprocess.run(
            ask, stdout=log, stderr=log, cwd=self.folder, env=dict(self.environment), check=False
        )
        if told.returncode == 0:
            subprocess.run(["scontrol", "requeue", job], stdout=log, stderr=log, check=True)
            time.sleep(_KILLED_WITHIN_S)


def _ignore_the_warning() -> None:
    """Slurm sends it to every process of the job, and neither the command nor its program must end by it."""
    signal.signal(signal.SIGUSR2, signal.SIG_IGN)
