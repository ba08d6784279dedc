"""Where runs are made besides this machine: engines that carry out tasks, each behind one protocol.

A task is a command line; that of a run is ``reprokit runs carry-out JOB``, which closes the run's folder
itself. So an engine has to start a command on some machine, to say whether it still runs, and to end it.
Nothing of a scheduler is written here.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol

from reprokit import extensions
from reprokit.errors import ReprokitError, SchedulerError

#: The engines by name, as ``--on`` takes them.
ELSEWHERE = ("ray", "slurm")
_HERE = "local"


def places() -> tuple[str, ...]:
    """All of them: what is built in, and what the loaded extensions bring.

    Raises:
        UsageError: An extension brings one that is built in.
    """
    return (*ELSEWHERE, *_brought())


class TaskState(StrEnum):
    """How far a task is.

    >>> TaskState.QUEUED.goes_on, TaskState.ENDED.goes_on
    (True, False)
    """

    QUEUED = "queued"
    RUNNING = "running"
    ENDED = "ended"  # its command has ended by itself, whatever its exit code
    STOPPED = "stopped"  # someone ended it through the engine
    TIMED_OUT = "timed_out"  # the engine ended it, because its time was up
    LOST = "lost"  # its machine, or what ran it there, is gone
    UNKNOWN = "unknown"  # the engine knows nothing of it (any more)

    @property
    def goes_on(self) -> bool:
        """Whether it may still write to its run folder."""
        return self in {TaskState.QUEUED, TaskState.RUNNING}


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A command to be carried out on one machine.

    Attributes:
        name: Unique, and the same after the tool was killed: letters, digits, ``-``, ``_`` and ``.``.
        command: Argument list; ``--node NAME`` follows, with the engine's name of the machine. Its paths hold
            on every machine: they lie in a folder that all share.
        server: May stand in place of as many first words of ``command``: a process that carries out the rest
            in a fork of itself, as each line of its stdin says (``forks``). Ray needs it.
        environment: All variables of the command; nothing of the engine's is added.
        working_dir: Where it starts.
        log: What it prints goes here.
        num_cpus: Cores that it needs; 0 where it may run alongside others.
        num_gpus: Accelerators that it needs.
        memory_bytes: Memory that it needs, or None where no one said.
        timeout_s: The engine ends it after so long, seconds; None for no limit.
        machines: Those of which one is to carry it out, by the engine's names of them; empty for any.
        may_be_requeued: Whether the engine may begin it again by itself: the command knows how.

    >>> from pathlib import Path
    >>> task = Task(name="a-1", command=("true",), working_dir=Path("/x"), log=Path("/x/a.log"))
    >>> task.num_cpus, task.machines
    (1, ())
    """

    name: str
    command: tuple[str, ...]
    server: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    working_dir: Path
    log: Path
    num_cpus: int = 1
    num_gpus: int = 0
    memory_bytes: int | None = None
    timeout_s: float | None = None
    machines: tuple[str, ...] = ()
    may_be_requeued: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskStatus:
    """How far a task is, as its engine says.

    Attributes:
        going: How far.
        machine: The engine's name of the machine, or "".
        message: Why it did not end by itself, one sentence, or "".

    >>> TaskStatus(going=TaskState.RUNNING, machine="node1").message
    ''
    """

    going: TaskState
    machine: str = ""
    message: str = ""


class Place(Protocol):
    """An engine that is connected; a context manager that ends the connection, and no task."""

    name: str
    #: What a person said of it, to be said again: ``{"address": …}``.
    settings: Mapping[str, str]

    def machines(self) -> tuple[str, ...]:
        """The machines that can carry out tasks now, by the engine's names of them.

        Raises:
            SchedulerError: The engine does not answer.
        """

    def submit(self, tasks: Sequence[Task]) -> tuple[str, ...]:
        """Hand tasks over; they continue when this process ends.

        Returns:
            A handle for each, with which another process can ask for it too.

        Raises:
            SchedulerError: The engine does not take them.
        """

    def standing(self, handles: Sequence[str]) -> tuple[TaskStatus, ...]:
        """How far tasks are, in the order of their handles.

        Raises:
            SchedulerError: The engine does not answer.
        """

    def cancel(self, handles: Sequence[str]) -> None:
        """Ask these tasks to end, and no others: each command gets SIGTERM and time to close its run."""

    def close(self) -> None:
        """End the connection; tasks continue."""


def open_place(name: str, *, settings: Mapping[str, str], folder: Path) -> Place:
    """Connect to an engine.

    Args:
        name: One of ``places``.
        settings: What a person said of it: ``address`` of Ray; ``partition``, ``gres``, … of Slurm.
        folder: A folder that all machines share, for what the engine writes.

    Raises:
        SchedulerError: It does not answer, or its package is not installed.
    """
    if name == "ray":
        from reprokit.features.machines.ray import RayPlace

        place: Place = RayPlace(settings)
        return place
    if name in _brought():
        return _brought()[name](settings, folder=folder)
    from reprokit.features.machines.slurm import SlurmPlace

    return SlurmPlace(settings, folder=folder)


def _brought() -> dict[str, Callable[..., Place]]:
    return {
        name: functools.partial(_opened, name, opening, extension.label)
        for extension, name, opening in extensions.brought("places", core=(_HERE, *ELSEWHERE))
    }


def _opened(
    name: str, opening: Callable[..., Place], label: str, settings: Mapping[str, str], *, folder: Path
) -> Place:
    """A place of an extension, whose faults are errors that name it."""
    asked = ForeignPlace(name=name, settings=dict(settings), label=label)
    asked.inner = asked.call(lambda: opening(dict(settings), folder=folder))
    return asked


@dataclass(slots=True, kw_only=True)
class ForeignPlace:
    """A place of an extension; what it answers is looked at before it is believed."""

    name: str
    settings: Mapping[str, str]
    label: str
    inner: Any = None

    def machines(self) -> tuple[str, ...]:
        """See ``Place.machines``."""
        return tuple(map(str, self.call(self.inner.machines)))

    def submit(self, tasks: Sequence[Task]) -> tuple[str, ...]:
        """See ``Place.submit``."""
        handles = tuple(map(str, self.call(lambda: self.inner.submit(tasks))))
        self._must_be(len(handles) == len(tasks), "it did not give a handle for each task")
        return handles

    def standing(self, handles: Sequence[str]) -> tuple[TaskStatus, ...]:
        """See ``Place.standing``."""
        found = tuple(self.call(lambda: self.inner.standing(handles)))
        whole = len(found) == len(handles) and all(isinstance(one, TaskStatus) for one in found)
        self._must_be(whole, "it did not give a TaskStatus for each handle")
        return found

    def cancel(self, handles: Sequence[str]) -> None:
        """See ``Place.cancel``."""
        self.call(lambda: self.inner.cancel(handles))

    def close(self) -> None:
        """See ``Place.close``."""
        self.call(self.inner.close)

    def call(self, asked: Callable[[], Any]) -> Any:
        """What the extension answers.

        Raises:
            SchedulerError: It does not, whatever it raises.
        """
        try:
            return asked()
        except ReprokitError:
            raise
        except Exception as error:  # of others: a fault is named, whatever it is
            raise self._faulty(f"{type(error).__name__}: {error}") from error

    def _must_be(self, holds: bool, what: str) -> None:
        if not holds:
            raise self._faulty(what)

    def _faulty(self, what: str) -> SchedulerError:
        return SchedulerError(
            f"the place of the extension {self.label} is faulty: {what}", where=f"--on {self.name}"
        )
