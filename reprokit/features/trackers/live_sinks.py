"""Further places that metrics go to while runs train: a process of its own for each run follows its file.

Nothing of it can reach a run: it reads what the run has written, from outside, and what keeps it from that is
a warning. The processes are told the verdict when there is one, and end then.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import reprokit
from reprokit.features.trackers.tracked_run import verdict_tags
from reprokit.layout import SINKS
from reprokit.project import Project

_WAIT_S = 60.0  # for all that follow, once they have been told the verdict
_START = (
    "import sys; sys.path.append({root!r}); from reprokit.features.trackers.sink_process import main; main()"
)
_MOST_TOLD = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class _Follower:
    """One process, the run that it follows, and what it says of itself."""

    run: Path
    process: subprocess.Popen[bytes]
    said: IO[bytes]


@dataclass(slots=True, kw_only=True)
class LiveSinks:
    """The processes that follow the runs of one recipe.

    Attributes:
        names: ``tensorboard``, ``wandb``.
        is_live: Whether the runs write what is recorded while they train, as trainers do; the metrics of
            other programs are read when they have ended.
        project: Where the runs are; what is written goes to ``.sinks`` next to them.
        note: Told what did not work.
    """

    names: tuple[str, ...]
    project: Project
    is_live: bool
    note: Callable[[str], None]
    _followers: list[_Follower] = field(default_factory=list)

    @property
    def place(self) -> Path:
        """Where the logs are."""
        return self.project.runs_dir / SINKS

    def follow(self, run: Path) -> None:
        """Begin to follow a run whose folder is there."""
        try:
            self.place.mkdir(parents=True, exist_ok=True)
            said = tempfile.TemporaryFile()  # noqa: SIM115 - closed when the process has ended
            process = subprocess.Popen(
                self._command(run),
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=said,
                cwd=self.place,
                env={name: text for name, text in os.environ.items() if name != "PYTHONPATH"},
                start_new_session=True,  # Ctrl-C ends the runs; this then still writes how they ended
            )
        except OSError as error:
            self.note(f"warning: nothing goes to {' and '.join(self.names)}: {error}")
            return
        self._followers.append(_Follower(run=run, process=process, said=said))

    def _command(self, run: Path) -> list[str]:
        how = "live" if self.is_live else "whole"
        start = [sys.executable, "-P", "-c", _START.format(root=_root())]
        return [*start, str(run), str(self.place), how, *self.names]

    def close(self) -> None:
        """Tell each process what the newest report says of its run, and wait for it."""
        for one in self._followers:
            tags: Mapping[str, str] = {}
            with suppress(Exception):  # a run that cannot be read has no tags
                tags = verdict_tags(one.run, project=self.project)
            _tell(one, {"tags": tags})
        until = time.monotonic() + _WAIT_S
        told = [line for one in self._followers for line in self._faults(one, until=until)]
        for line in dict.fromkeys(told):
            self.note(f"warning: {line[:_MOST_TOLD]}")
        self._followers.clear()

    def _faults(self, one: _Follower, *, until: float) -> list[str]:
        """What did not work, once the process has ended: a line for each sink."""
        try:
            one.process.wait(timeout=max(0.1, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            one.process.kill()
            one.process.wait()
        with one.said:
            one.said.seek(0)
            lines = one.said.read(1 << 16).decode("utf-8", errors="replace").splitlines()
        told = [line for line in lines if line.startswith("sink ")]
        if one.process.returncode and not told:
            why = lines[-1] if lines else f"not done {_WAIT_S:g} s after the runs, or ended without a word"
            told = [f"sink {name}: {why}" for name in self.names]
        return told


def live_sinks(
    names: Sequence[str], *, project: Project, is_live: bool, note: Callable[[str], None]
) -> LiveSinks:
    """What follows the runs of one recipe; arguments as there."""
    return LiveSinks(names=tuple(names), project=project, is_live=is_live, note=note)


def _tell(one: _Follower, what: Mapping[str, object]) -> None:
    with suppress(OSError, ValueError):  # it has ended, and what it said of that is read at the end
        if one.process.stdin is not None:
            with one.process.stdin as stream:
                stream.write(json.dumps(what).encode() + b"\n")


def _root() -> str:
    """Where this package is imported from, so that the process is of the same."""
    return str(Path(reprokit.__file__).resolve().parents[1])
