"""The tool's side of a local run: starts the guard, reads its reports, ends it.

The guard has a session of its own, so that Ctrl-C in the terminal and a kill of the tool's process group
do not reach it: it learns of both when its pipe closes, and ends the program.

    >>> with GuardedProgram(plan, logs=(stdout, stderr)) as program:
    ...     overdue = program.watch(limit_s=None, on_tick=print)
    >>> program.facts()["status"]
    0
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self, cast

import psutil

from reprokit.execution import TICK_S
from reprokit.execution.local_orphans import ask_for_orphans, end_orphans, stop_asking

_GUARD = Path(__file__).with_name("local_guard.py")
_FAREWELL_S = 5.0


class GuardedProgram:
    """A program under guard. Leaving the context ends it and all its children, whatever happened.

    Args:
        plan: What ``local_guard`` is to start: ``command``, ``environment``, ``working_dir``,
            ``cpus``, ``memory_bytes``, ``scratch`` (a private folder that it makes and removes),
            ``mounts`` (name of a link in it → path).
        logs: Open files for the program's stdout and stderr.

    Attributes:
        survivors: What is known to continue after the context has been left: process numbers; None where the
            guard was killed and this system cannot say.
    """

    survivors: tuple[int, ...] | None = ()

    def __init__(self, plan: Mapping[str, Any], *, logs: Sequence[BinaryIO]) -> None:
        self._plan = plan
        self._logs = logs
        self._heard = bytearray()

    def __enter__(self) -> Self:
        descriptors = [log.fileno() for log in self._logs]
        self._gets_orphans = ask_for_orphans()
        try:
            self._guard = subprocess.Popen(
                [sys.executable, "-I", "-S", str(_GUARD)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                pass_fds=descriptors,
                start_new_session=True,
            )
        except BaseException:
            self._stop_asking()
            raise
        self._began = psutil.Process(self._guard.pid).create_time()
        self._orders = cast("BinaryIO", self._guard.stdin)
        self._reports = cast("BinaryIO", self._guard.stdout)
        plan = {**self._plan, "stdout": descriptors[0], "stderr": descriptors[1]}
        try:
            with contextlib.suppress(BrokenPipeError):  # it was killed; its silence will tell
                self._orders.write(json.dumps(plan).encode() + b"\n")
                self._orders.flush()
        except BaseException:  # an interruption: the context never opened, so no one else closes it
            self._dismiss()
            raise
        return self

    def watch(self, *, limit_s: float | None, on_tick: Callable[[], None]) -> bool:
        """Tick until the program has ended: False. Or until its time is up: True."""
        deadline = float("inf") if limit_s is None else time.monotonic() + limit_s
        with selectors.DefaultSelector() as selector:
            selector.register(self._reports, selectors.EVENT_READ)
            while True:
                if selector.select(max(0.0, min(TICK_S, deadline - time.monotonic()))):
                    words = os.read(self._reports.fileno(), 4096)
                    if not words:
                        return False
                    self._heard += words
                elif time.monotonic() >= deadline:
                    return True
                else:
                    on_tick()

    def facts(self) -> dict[str, Any]:
        """What the guard has reported so far; see ``local_guard``."""
        facts: dict[str, Any] = {}
        for line in bytes(self._heard).splitlines():
            facts.update(json.loads(line))
        return facts

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the program with all its children."""
        self._dismiss()

    def _dismiss(self) -> None:
        """Close the orders and hear the guard out; further interruptions are held back meanwhile."""
        with contextlib.suppress(BrokenPipeError):
            self._orders.close()
        deadline = time.monotonic() + _FAREWELL_S
        while self._guard.poll() is None and time.monotonic() < deadline:
            with contextlib.suppress(KeyboardInterrupt, SystemExit, subprocess.TimeoutExpired):
                self._guard.wait(0.1)
        if self._guard.poll() is None:
            self._guard.kill()
        else:
            self._heard += self._reports.read()
        self._reports.close()
        self._guard.wait()
        try:
            self._end_unguarded()
        finally:
            self._stop_asking()

    def _stop_asking(self) -> None:
        if self._gets_orphans:
            self._gets_orphans = False
            stop_asking()

    def _end_unguarded(self) -> None:
        """Do the work of a guard that was killed before it could end the program."""
        facts = self.facts()
        if "pid" in facts and "status" not in facts:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(facts["pid"], signal.SIGKILL)
            self.survivors = None
            if self._gets_orphans:
                self.survivors = end_orphans(since=self._began, guard=str(_GUARD))
        if "status" not in facts:  # it removes its folder itself where it came to an end
            shutil.rmtree(self._plan["scratch"], ignore_errors=True)
