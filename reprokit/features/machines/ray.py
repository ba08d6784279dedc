"""Tasks on a Ray cluster: each one of Ray's, handed over by an actor that outlives the tool.

The actor is detached and lives on the head node; each handle names it, so that another tool finds it when
this one was killed. A task starts its command as a process, which gets SIGTERM when the task is cancelled and
ends by the closing of a pipe when the worker, or all of Ray on that machine, is killed. No result goes
through Ray's object store.
Source: https://docs.ray.io/en/latest/ray-core/actors/named-actors.html
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import signal
import socket
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from reprokit.errors import SchedulerError
from reprokit.features.machines import ray_worker
from reprokit.features.machines.place import Task, TaskState, TaskStatus

_NAMESPACE = "reprokit"
_ANSWER_S, _START_S, _LEAVE_S = 60.0, 300.0, 2.0
#: Ray itself waits a minute for its head, and then ends the whole process without a word.
_HEAD_S, _CONNECT_S, _AGAIN_S = 20.0, 5.0, 1.0
#: Ray gives every node this label: https://docs.ray.io/en/latest/ray-core/scheduling/labels.html
_NODE_LABEL = "ray.io/node-id"
#: The head node has one of this, whatever else it has; with it goes all that the cluster knows.
_HEAD = {"node:__internal_head__": 0.001}
#: Not ``auto``, ``local`` or ``ray://…``.
#: What is larger than 100 kB would go through the object store; the variables of a shell take 5 kB.
_BATCH = 16
_PLAIN_ADDRESS = re.compile(r"[^/]+:\d{1,5}")
_QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}


class RayPlace:
    """A running Ray cluster. Only one is connected at a time: Ray keeps its connection in the process."""

    name = "ray"

    def __init__(self, settings: Mapping[str, str]) -> None:
        self.settings: Mapping[str, str] = dict(settings)
        for variable, value in _QUIET.items():
            os.environ.setdefault(variable, value)
        try:
            import ray
        except ImportError as error:
            raise SchedulerError(
                "Ray is not installed", where="--on ray", fix="pip install 'reprokit-verify[ray]'"
            ) from error
        self._ray: Any = ray
        ray.cloudpickle.register_pickle_by_value(ray_worker)  # the cluster need not have reprokit
        self._mine = ""  # the owner of what this connection hands over
        self._owners: dict[str, Any] = {}
        self._quiet = contextlib.ExitStack()
        # Ray prints what happens to its nodes to stdout, which belongs to the tool's answer.
        nowhere = self._quiet.enter_context(open(os.devnull, "w"))  # noqa: PTH123, SIM115
        self._quiet.enter_context(contextlib.redirect_stdout(nowhere))
        before = signal.getsignal(signal.SIGTERM)  # Ray puts its own in its place
        address = self.settings.get("address") or os.environ.get("RAY_ADDRESS") or "auto"
        try:
            if _PLAIN_ADDRESS.fullmatch(address) and (problem := _why_silent(address)) is not None:
                raise problem  # Ray itself would ask for many minutes
            ray.init(address=address, namespace=_NAMESPACE, log_to_driver=False, logging_level="ERROR")
        except (ConnectionError, RuntimeError, ValueError, OSError) as error:
            self._quiet.close()
            raise SchedulerError(
                f"no Ray cluster answers: {' '.join(str(error).split())[:200] or type(error).__name__}",
                where=f"--address {address}",
                fix="start one with `ray start --head`, or name another with --address",
            ) from error
        finally:
            if threading.current_thread() is threading.main_thread():
                signal.signal(signal.SIGTERM, before)
        self._head: str = ray.get_runtime_context().gcs_address

    def __enter__(self) -> RayPlace:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def machines(self) -> tuple[str, ...]:
        """See ``Place.machines``."""
        self._must_have_head()
        with _as_scheduler_error():
            alive = [node for node in self._ray.nodes() if node["Alive"] and node["Resources"].get("CPU")]
        return tuple(sorted(node["NodeID"] for node in alive))

    def submit(self, tasks: Sequence[Task]) -> tuple[str, ...]:
        """See ``Place.submit``."""
        self._must_have_head()
        rows = [(_arguments(task), _options(task)) for task in tasks]
        handles: list[str] = []
        with _as_scheduler_error():
            for at in range(0, len(rows), _BATCH):
                batch = rows[at : at + _BATCH]
                if not self._are_taken(batch):
                    self._mine = self._new_owner()
                    self._ask(self._mine, "submit", batch, timeout=_START_S)
                handles += [f"{self._mine}/{task.name}" for task in tasks[at : at + _BATCH]]
        return tuple(handles)

    def standing(self, handles: Sequence[str]) -> tuple[TaskStatus, ...]:
        """See ``Place.standing``."""
        self._must_have_head()
        found: dict[str, TaskStatus] = {}
        with _as_scheduler_error():
            for owner, names in _by_owner(handles).items():
                for name, standing in zip(names, self._standings(owner, names), strict=True):
                    found[f"{owner}/{name}"] = standing
        return tuple(found[handle] for handle in handles)

    def cancel(self, handles: Sequence[str]) -> None:
        """See ``Place.cancel``."""
        self._must_have_head()
        with _as_scheduler_error():
            for owner, names in _by_owner(handles).items():
                if self._owner(owner) is not None:  # else they have ended
                    with contextlib.suppress(self._ray.exceptions.ActorDiedError):
                        self._ask(owner, "stop", names)

    def close(self) -> None:
        """See ``Place.close``."""
        try:
            if self._mine:
                self._ray.wait([self._owners[self._mine].leave.remote()], timeout=_LEAVE_S)
            self._ray.shutdown()
        finally:
            self._quiet.close()

    def _must_have_head(self) -> None:
        """Wait a while for the node that knows the cluster.

        Raises:
            SchedulerError: It is gone.
        """
        problem = _why_silent(self._head)
        if problem is not None:
            raise SchedulerError(
                f"the head node of the Ray cluster is gone ({problem}), with all that the cluster knew",
                where=f"--address {self._head}",
                fix="start the cluster again; `reprokit runs attach` continues the sweep",
            ) from problem

    def _are_taken(self, rows: Sequence[Any]) -> bool:
        """Whether the owner of this connection has taken tasks: it leaves when no one asks for a while."""
        try:
            return self._mine != "" and bool(self._ask(self._mine, "submit", rows))
        except self._ray.exceptions.ActorDiedError:
            return False

    def _new_owner(self) -> str:
        name = f"owner-{secrets.token_hex(6)}"
        owner = self._ray.remote(ray_worker.Owner).options(
            name=name,
            namespace=_NAMESPACE,
            lifetime="detached",
            num_cpus=0,
            resources=_HEAD,
            max_restarts=0,
            max_concurrency=4,
        )
        self._owners[name] = owner.remote()
        self._owners[name].live.remote()
        return name

    def _owner(self, name: str) -> Any:
        """The actor of a name; None where there is none (any more)."""
        if name and name not in self._owners:
            with contextlib.suppress(ValueError):
                self._owners[name] = self._ray.get_actor(name, namespace=_NAMESPACE)
        return self._owners.get(name)

    def _ask(self, owner: str, method: str, *words: Any, timeout: float = _ANSWER_S) -> Any:
        return self._ray.get(getattr(self._owners[owner], method).remote(*words), timeout=timeout)

    def _standings(self, owner: str, names: Sequence[str]) -> list[TaskStatus]:
        if self._owner(owner) is None:
            return [TaskStatus(going=TaskState.UNKNOWN, message="Ray no longer has this task")] * len(names)
        try:
            told = self._ask(owner, "standings", names)
        except self._ray.exceptions.ActorDiedError as error:
            why = " ".join(str(error).split())[:200]
            lost = TaskStatus(
                going=TaskState.LOST, message=f"what owned its task on the cluster was lost: {why}"
            )
            return [lost] * len(names)
        return [
            TaskStatus(going=TaskState(going), machine=machine, message=why) for going, machine, why in told
        ]


def _arguments(task: Task) -> dict[str, Any]:
    return {
        "name": task.name,
        "process_of": {
            "server": list(task.server),
            "environment": dict(task.environment),
            "folder": str(task.working_dir),
        },
        "words": list(task.command[len(task.server) :]),
        "log": str(task.log),
        "timeout_s": task.timeout_s,
    }


def _options(task: Task) -> dict[str, Any]:
    options: dict[str, Any] = {"name": task.name, "num_cpus": task.num_cpus, "num_gpus": task.num_gpus}
    if task.memory_bytes is not None:
        options["memory"] = task.memory_bytes
    if task.machines:
        options["label_selector"] = {_NODE_LABEL: f"in({', '.join(task.machines)})"}
    return options


def _by_owner(handles: Sequence[str]) -> dict[str, list[str]]:
    """Owner → the names of its tasks."""
    found: dict[str, list[str]] = {}
    for handle in handles:
        owner, _, name = handle.partition("/")
        found.setdefault(owner, []).append(name)
    return found


def _why_silent(address: str) -> OSError | None:
    """Why no one answers at ``host:port``, asked for a while; None once someone does."""
    until = time.monotonic() + _HEAD_S
    host, _, port = address.rpartition(":")
    while True:
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=_CONNECT_S).close()
        except OSError as error:
            if time.monotonic() > until:
                return error
            time.sleep(_AGAIN_S)
        except OverflowError as error:  # there is no such port
            return OSError(str(error))
        else:
            return None


@contextlib.contextmanager
def _as_scheduler_error() -> Iterator[None]:
    """What Ray raises, as an error of ours."""
    import ray

    try:
        yield
    except (ray.exceptions.RayError, ConnectionError, RuntimeError) as error:
        raise SchedulerError(
            f"Ray does not answer as expected: {' '.join(str(error).split())[:300]}",
            where="--on ray",
            fix="`ray status` shows the cluster; the same command continues where it stopped",
        ) from error
