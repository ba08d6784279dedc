"""Runs in hardened containers, through the Docker engine.

``docker_config`` says how a container is configured, ``docker_container`` how it is started and removed.

    >>> DockerBackend(workspace="/home/ada/project/runs").run(spec, run_dir, on_tick=lambda: None).outcome
    <Outcome.COMPLETED: 'completed'>
"""

from __future__ import annotations

import os
import re
import secrets
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from signal import SIGKILL
from typing import Any

from reprokit.core.records import Outcome, RunResult, RunSpec
from reprokit.execution import TICK_S, accelerators
from reprokit.execution.docker_config import RUN_DIR, container_config, isolation
from reprokit.execution.docker_container import ContainerLife, engine_lost
from reprokit.execution.docker_engine import ClientFactory, connect, engine_status
from reprokit.execution.docker_orphans import labels_for, remove_orphans
from reprokit.execution.engine_status import EngineStatus
from reprokit.execution.kernel_log import Killed
from reprokit.execution.mounted_copies import SharedCopies, mounted_copies
from reprokit.execution.outcome import (
    Explanation,
    ProgramEnd,
    StopRunError,
    Stopwatch,
    cannot_write,
    command_missing,
    explain,
    readable_size,
    signal_of,
    timed_out,
)
from reprokit.execution.run_folder import free_bytes, open_logs, stderr_tail
from reprokit.layout import OUTPUT

__all__ = ["DockerBackend", "EngineStatus", "engine_status", "remove_orphans"]

_NOBODY = 65532
_MOST = 32768


class DockerBackend:
    """Runs programs in containers made from pinned images.

    Safe to use from several threads: every run has connections and a container of its own.
    ``workspace``, the runs folder, labels the containers for ``remove_orphans``.
    """

    name = "docker"

    def __init__(self, *, workspace: str, client_factory: ClientFactory = connect) -> None:
        self._workspace = workspace
        self._copies = SharedCopies(Path(workspace))  # mounted read-only
        self._client_factory = client_factory

    def run(self, spec: RunSpec, run_dir: Path, *, on_tick: Callable[[], None]) -> RunResult:
        """See ``Backend.run``."""
        watch, isolation = Stopwatch(), {"backend": "docker"}
        with mounted_copies(spec, run_dir, shared=self._copies) as copies:
            if copies.problem is not None:
                return watch.result(copies.problem, isolation=isolation)
            watch, spec = Stopwatch(), copies.spec
            engine = engine_status(client_factory=self._client_factory)
            if (obstacle := _obstacle(spec, engine)) is not None:
                return watch.result(obstacle, isolation=isolation)
            try:
                life = self._container(spec, run_dir, engine)
            except OSError as error:
                return watch.result(cannot_write(str(run_dir), error), isolation=isolation)
            stopped: Explanation | None = None
            overdue = False
            try:
                try:
                    life.start()
                    overdue = _watch(life, limit_s=spec.limits.timeout_s, on_tick=on_tick)
                finally:
                    life.stop()
            except StopRunError as stop:
                stopped = life.failure or stop.why
            seen = _seen(spec, run_dir, life)
            why = stopped or _explain(spec, life, seen, overdue=overdue)
            return copies.unless_changed(watch.result(why, seen=seen, isolation=_isolation(life, engine)))

    def _container(self, spec: RunSpec, run_dir: Path, engine: EngineStatus) -> ContainerLife:
        """The container of a run, not begun, with its logs open."""
        user, userns = _user(engine)
        output = (run_dir / OUTPUT).resolve()
        config = container_config(
            spec,
            output=str(output),
            user=user,
            userns=userns,
            labels=labels_for(spec, workspace=self._workspace),
            watched=not engine.podman,
            ulimits=_own_ulimits() if engine.podman else None,
        )
        _hand_over(output, user=user)
        stdout, stderr = open_logs(run_dir)
        name, factory = _container_name(spec), self._client_factory
        return ContainerLife(config, name=name, client_factory=factory, stdout=stdout, stderr=stderr)


def _obstacle(spec: RunSpec, engine: EngineStatus) -> Explanation | None:
    """Why the run cannot start, or None."""
    if not spec.command:
        return command_missing("", "the command line is empty")
    if not engine.reachable:
        return Explanation(outcome=Outcome.ENGINE_MISSING, message=engine.error, remedy=engine.remedy)
    if spec.realisation is None or spec.realisation.kind != "image":
        return Explanation(
            outcome=Outcome.IMAGE_MISSING,
            message="this run names no container image",
            remedy="run it with --backend local, or build an image first: reprokit image build",
        )
    return accelerators.missing(spec)


def _user(engine: EngineStatus) -> tuple[str, str]:
    """The ``uid:gid`` inside and the user namespace, so that the caller can read what is written.

    Never root on the host: the caller's own id, or an unused one when the caller is root. Root of a
    rootless engine is the calling user; files of other ids could not be read by the caller.
    """
    if engine.rootless:
        return "0:0", ""
    userns = "host" if "userns" in engine.security_options else ""
    return (f"{os.getuid()}:{os.getgid()}" if os.getuid() else f"{_NOBODY}:{_NOBODY}"), userns


def _own_ulimits() -> dict[str, int]:
    """Limits for Podman, whose defaults (a million of each) not every host allows."""
    import resource  # noqa: PLC0415  (Windows has none)

    kinds = {"nofile": resource.RLIMIT_NOFILE, "nproc": resource.RLIMIT_NPROC}
    own = {name: resource.getrlimit(kind)[1] for name, kind in kinds.items()}
    return {name: _MOST if most == resource.RLIM_INFINITY else min(most, _MOST) for name, most in own.items()}


def _hand_over(output: Path, *, user: str) -> None:
    """Let the container's user write to its folder when the caller is root."""
    uid, gid = map(int, user.split(":"))
    if os.getuid() == 0 and uid != 0:
        os.chown(output, uid, gid)


def _container_name(spec: RunSpec) -> str:
    """Unique, and readable in ``docker ps``."""
    readable = re.sub(r"[^a-zA-Z0-9_.-]+", "-", f"{spec.recipe}-{spec.run_id}")
    return f"reprokit-{readable[:80]}-{secrets.token_hex(4)}"


def _watch(life: ContainerLife, *, limit_s: float | None, on_tick: Callable[[], None]) -> bool:
    """Tick until the container has ended; whether the time limit was reached before."""
    limit = float("inf") if limit_s is None else limit_s
    left_s = limit
    while not life.ended.wait(max(0.0, min(TICK_S, left_s))):
        if life.began_s is not None:  # the engine's time to make it is not the program's
            left_s = life.began_s + limit - time.monotonic()
        if left_s <= 0:
            return True
        on_tick()
    return False


def _explain(spec: RunSpec, life: ContainerLife, seen: ProgramEnd, *, overdue: bool) -> Explanation:
    if life.failure is not None:
        return life.failure
    if overdue and seen.exit_code != 0:
        return timed_out(spec.limits.timeout_s or 0.0)
    return engine_lost() if life.exit_code is None else explain(seen)


def _seen(spec: RunSpec, run_dir: Path, life: ContainerLife) -> ProgramEnd:
    signal = None if life.exit_code is None else signal_of(life.exit_code)
    return ProgramEnd(
        exit_code=None if signal else life.exit_code,
        signal=signal,
        out_of_memory=_out_of_memory(life, signal),
        stderr_tail=stderr_tail(run_dir),
        program=spec.command[0] if spec.command else "",
        output=RUN_DIR,
        free_bytes=free_bytes(run_dir),
    )


def _out_of_memory(life: ContainerLife, signal: int | None) -> str:
    """Evidence that memory ran out and a process of the container was killed, "" for none."""
    limit = life.inspected.get("HostConfig", {}).get("Memory", 0)
    if life.killed is Killed.ELSEWHERE:
        return "the kernel killed a process of the container, whose own limit was not reached"
    if life.killed is Killed.AT_ITS_LIMIT or life.inspected.get("State", {}).get("OOMKilled", False):
        return f"the container's limit of {readable_size(limit)} was reached"
    if life.killed is Killed.UNKNOWN and life.inspected and signal == SIGKILL:
        return "it was killed while the system's out-of-memory killer was active"
    return ""


def _isolation(life: ContainerLife, engine: EngineStatus) -> Mapping[str, Any]:
    if not life.inspected:
        return {"backend": "docker"}
    facts = {
        "engine_version": engine.version,
        "storage_driver": engine.storage_driver,
        "cgroup_version": engine.cgroup_version,
        "rootless": engine.rootless,
        "security_options": list(engine.security_options),
    }
    return isolation(life.inspected, engine=facts)
