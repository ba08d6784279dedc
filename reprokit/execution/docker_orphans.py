"""Removes containers that a killed tool left behind, and only those.

A container is an orphan only if the process that made it, on this very host, is gone.

    >>> remove_orphans("/home/ada/project/runs")
    ()
"""

from __future__ import annotations

import contextlib
import os
import platform
from dataclasses import dataclass
from pathlib import Path

import psutil

from reprokit.core.records import RunSpec
from reprokit.docker_sdk import ANSWERS, ENGINE_ERRORS, suppressed
from reprokit.execution import engine_socket
from reprokit.execution.docker_engine import ClientFactory, quick_connect

WORKSPACE_LABEL = engine_socket.WORKSPACE_LABEL
RUN_LABEL = "dev.reprokit.run"
OWNER_LABEL = "dev.reprokit.owner"


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerProcess:
    """A process, identified so that a reused process id is not mistaken for it.

    Attributes:
        pid: Its process id.
        started: When it started, in the system's units since boot.
        boot: The id of that boot.
        host: The host's name: processes of another host cannot be checked from here.
    """

    pid: int
    started: str
    boot: str
    host: str

    def label(self) -> str:
        """As written on a container."""
        return f"{self.pid} {self.started} {self.boot} {self.host}"

    @classmethod
    def of_process(cls, pid: int) -> OwnerProcess:
        """A living process of this host."""
        return cls(pid=pid, started=_started(pid) or "", boot=_boot(), host=platform.node())

    @classmethod
    def from_label(cls, label: str) -> OwnerProcess | None:
        """Read a label back; None if it is not one of ours."""
        match label.split(" "):
            case [pid, started, boot, host] if pid.isdecimal():
                return cls(pid=int(pid), started=started, boot=boot, host=host)
        return None

    def is_gone(self) -> bool:
        """Whether it certainly ended: False for processes of other hosts, about which nothing is known."""
        if self.host != platform.node():
            return False
        return self.boot != _boot() or self.started != _started(self.pid)


def labels_for(spec: RunSpec, *, workspace: str) -> dict[str, str]:
    """The labels of a run's container, owned by this process."""
    return {
        WORKSPACE_LABEL: workspace,
        RUN_LABEL: f"{spec.recipe}/{spec.run_id}",
        OWNER_LABEL: OwnerProcess.of_process(os.getpid()).label(),
    }


def remove_orphans(workspace: str, *, client_factory: ClientFactory = quick_connect) -> tuple[str, ...]:
    """Remove the containers that a killed tool left in this workspace, running or not; their names.

    Empty as well when no engine can be reached: then nothing runs, and the next start tries again.
    """
    removed = []
    try:
        with contextlib.closing(client_factory()) as client:
            filters = {"label": [f"{WORKSPACE_LABEL}={workspace}"]}
            for container in client.api.containers(all=True, filters=filters):
                owner = OwnerProcess.from_label(container["Labels"].get(OWNER_LABEL, ""))
                if owner is None or not owner.is_gone():
                    continue
                with suppressed(*ANSWERS):  # another start of the tool was faster
                    client.api.remove_container(container["Id"], force=True, v=True)
                    removed.append(container["Names"][0].removeprefix("/"))
    except ENGINE_ERRORS:
        return tuple(removed)
    return tuple(removed)


def _started(pid: int) -> str | None:
    """A process's start time, or None if there is no such process or only its remains."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return None if Path("/proc/self").exists() else _started_elsewhere(pid)
    except ProcessLookupError:
        return None
    fields = stat.rpartition(")")[2].split()  # the name before it may hold spaces and brackets
    return None if fields[0] in "ZX" else fields[19]


def _started_elsewhere(pid: int) -> str | None:
    """The same where there is no /proc."""
    try:
        process = psutil.Process(pid)
        return None if process.status() == psutil.STATUS_ZOMBIE else str(int(process.create_time()))
    except psutil.Error:
        return None


def _boot() -> str:
    """What names this boot, or "-" where the system does not say."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return "-"
