"""The processes of all ranks: started together, ended together.

>>> with started(arguments, settings, meeting) as ranks:
...     ranks[0].wait()
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from reprokit.runtime.rank_settings import LOST_PEER, RankSettings, own_folder

_LAUNCH = ("-m", "reprokit.runtime.launch")
_PR_SET_PDEATHSIG = 1

Process = subprocess.Popen[bytes]


@contextlib.contextmanager
def started(arguments: Sequence[str], settings: RankSettings, meeting: Path) -> Iterator[list[Process]]:
    """The processes of all ranks; none of them outlives the block."""
    ranks: list[Process] = []
    try:
        for rank in range(settings.world_size):
            own_folder(meeting, rank).mkdir()
            numbers = {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(settings.world_size)}
            command = [sys.executable, *_LAUNCH, "--rank", str(rank), "--meeting", str(meeting), *arguments]
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                env={**os.environ, **numbers},
                preexec_fn=_end_with(os.getpid()),  # noqa: PLW1509 - there is no other thread here
            )
            ranks.append(process)
        yield ranks
    finally:
        for process in ranks:
            process.kill()  # also ends one that is stopped; does nothing to one that has ended
        for process in ranks:
            process.wait()


def _end_with(parent: int) -> Callable[[], None]:
    """Has the kernel end the process that calls it when its parent ends, however that is (prctl(2))."""
    prctl = ctypes.CDLL(None).prctl if sys.platform == "linux" else None

    def end_with() -> None:
        if prctl is not None:
            prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:  # it ended before it was asked
            os._exit(LOST_PEER)

    return end_with
