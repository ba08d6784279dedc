"""An engine that starts tasks as processes of this machine: the contract of ``where.Place``, and no more."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any

import psutil

from reprokit.features.machines.place import Task, TaskState, TaskStatus


class ProcessPlace:
    """Tasks are processes of this machine; a handle is the process's number.

    A machine is lost by ``lose(handle)``: its processes are killed, and the engine says so.
    """

    name = "ray"  # recorded as an engine is

    def __init__(
        self,
        *,
        machines: Sequence[str] = ("one",),
        changes: Mapping[str, Any] | None = None,
        busy: Sequence[str] = (),
        within: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self.settings: Mapping[str, str] = {}
        self.names = tuple(machines)
        self.went_to: list[str] = []  # the machine of each task, in their order
        self.changes = dict(changes or {})  # machine → variables that are different there
        self.within = dict(within or {})  # machine → what begins its command lines
        self.busy = tuple(busy)  # machines that begin nothing
        self.started: dict[str, tuple[Task, subprocess.Popen[bytes]]] = {}
        self.lost: set[str] = set()
        self.stopped: set[str] = set()
        self.closed = False

    def machines(self) -> tuple[str, ...]:
        return self.names

    def submit(self, tasks: Sequence[Task]) -> tuple[str, ...]:
        return tuple(self._start(task) for task in tasks)

    def _start(self, task: Task) -> str:
        allowed = task.machines or [name for name in self.names if name not in self.busy]
        machine = min(allowed, key=self.went_to.count)
        if machine in self.busy:
            return f"queued-{machine}"
        self.went_to.append(machine)
        with task.log.open("ab") as log:
            process = subprocess.Popen(
                [*self.within.get(machine, ()), *task.command, "--node", machine],
                cwd=task.working_dir,
                env={**task.environment, **self.changes.get(machine, {})},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.started[str(process.pid)] = (task, process)
        return str(process.pid)

    def standing(self, handles: Sequence[str]) -> tuple[TaskStatus, ...]:
        return tuple(map(self._standing, handles))

    def _standing(self, handle: str) -> TaskStatus:
        if handle.startswith("queued-"):
            return TaskStatus(going=TaskState.STOPPED if handle in self.stopped else TaskState.QUEUED)
        if handle in self.lost:
            return TaskStatus(going=TaskState.LOST, message="the machine was lost")
        if handle in self.started:
            ended = self.started[handle][1].poll() is not None
        else:  # of a tool before this one
            ended = not psutil.pid_exists(int(handle))
        if ended:
            return TaskStatus(
                going=TaskState.STOPPED if handle in self.stopped else TaskState.ENDED, machine=self.names[0]
            )
        return TaskStatus(going=TaskState.RUNNING, machine=self.names[0])

    def cancel(self, handles: Sequence[str]) -> None:
        for handle in handles:
            if self._standing(handle).going.goes_on:
                self.stopped.add(handle)
                if not handle.startswith("queued-"):
                    os.kill(int(handle), signal.SIGTERM)

    def lose(self, handle: str) -> None:
        """What happens to a task when its machine goes down."""
        found = psutil.Process(int(handle))
        for process in [found, *found.children(recursive=True)]:
            process.kill()
        self.started[handle][1].wait()
        self.lost.add(handle)

    def wait(self) -> None:
        """Until all tasks have ended; those that would not are killed."""
        for _, process in self.started.values():
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def close(self) -> None:
        self.closed = True
