"""Tasks on a Ray cluster: each an actor that outlives the tool, and starts its command as a process.

The actor is detached and named after the task, so that a tool which was killed finds it again. Its process
gets SIGTERM when the actor is asked to end, and ends by the closing of a pipe when the actor, or all of Ray
on that machine, is killed. No result goes through Ray's object store.
Source: https://docs.ray.io/en/latest/ray-core/actors/named-actors.html
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from reprokit.errors import SchedulerError
from reprokit.where import Going, Standing, Task, ray_worker

_NAMESPACE = "reprokit"
_ANSWER_S = 10.0
#: Ray itself waits a minute for its head, and then ends the whole process without a word.
_HEAD_S, _CONNECT_S, _AGAIN_S = 20.0, 5.0, 1.0
#: Ray gives every node this label: https://docs.ray.io/en/latest/ray-core/scheduling/labels.html
_NODE_LABEL = "ray.io/node-id"
#: Not ``auto``, ``local`` or ``ray://…``.
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
            import ray  # noqa: PLC0415  an extra
        except ImportError as error:
            raise SchedulerError(
                "Ray is not installed", where="--on ray", fix="pip install 'reprokit-verify[ray]'"
            ) from error
        self._ray: Any = ray
        ray.cloudpickle.register_pickle_by_value(ray_worker)  # the cluster need not have reprokit
        self._ends: dict[str, Any] = {}  # handle → the answer that its actor owes
        self._begins: dict[str, Any] = {}
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
        with _as_scheduler_error():
            for task in tasks:
                actor = self._ray.remote(ray_worker.Command).options(**self._options(task)).remote()
                actor.run.remote(
                    list(task.command),
                    dict(task.environment),
                    str(task.working_dir),
                    str(task.log),
                    task.timeout_s,
                )
                self._follow(task.name, actor)
        return tuple(task.name for task in tasks)

    def standing(self, handles: Sequence[str]) -> tuple[Standing, ...]:
        """See ``Place.standing``."""
        self._must_have_head()
        with _as_scheduler_error():
            return tuple(self._standing(handle) for handle in handles)

    def cancel(self, handles: Sequence[str]) -> None:
        """See ``Place.cancel``."""
        self._must_have_head()
        with _as_scheduler_error():
            for handle in handles:
                actor = self._actor(handle)
                if actor is None:
                    continue  # it has ended
                self._follow(handle, actor)
                if self._is_there(self._begins[handle]):
                    actor.stop.remote()
                else:
                    self._ray.kill(actor)  # it waits for a machine

    def close(self) -> None:
        """See ``Place.close``."""
        try:
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
                fix="start the cluster again; `reprokit runs attach` goes on with the sweep",
            ) from problem

    def _options(self, task: Task) -> dict[str, Any]:
        more: dict[str, Any] = {}
        if task.memory_bytes is not None:
            more["memory"] = task.memory_bytes
        if task.machines:
            more["label_selector"] = {_NODE_LABEL: f"in({', '.join(task.machines)})"}
        return {
            "name": task.name,
            "namespace": _NAMESPACE,
            "lifetime": "detached",
            "num_cpus": task.num_cpus,
            "num_gpus": task.num_gpus,
            "max_restarts": 0,
            "max_concurrency": 4,
            **more,
        }

    def _actor(self, handle: str) -> Any:
        try:
            return self._ray.get_actor(handle, namespace=_NAMESPACE)
        except ValueError:  # there is none of this name
            return None

    def _follow(self, handle: str, actor: Any) -> None:
        if handle not in self._ends:
            self._begins[handle] = actor.machine.remote()
            self._ends[handle] = actor.ended.remote()

    def _is_there(self, answer: Any) -> bool:
        return bool(self._ray.wait([answer], timeout=0, fetch_local=False)[0])

    def _standing(self, handle: str) -> Standing:
        if handle not in self._ends:
            actor = self._actor(handle)
            if actor is None:
                return Standing(going=Going.UNKNOWN, message="Ray has no such actor any more")
            self._follow(handle, actor)
        errors = self._ray.exceptions
        machine = ""
        try:
            if self._is_there(self._begins[handle]):
                machine = self._ray.get(self._begins[handle], timeout=_ANSWER_S)
            if self._is_there(self._ends[handle]):
                going = Going(self._ray.get(self._ends[handle], timeout=_ANSWER_S))
                return Standing(going=going, machine=machine)
        except errors.RayError as error:
            why = " ".join(str(error).split())[:200]
            return Standing(going=Going.LOST, machine=machine, message=f"its worker was lost: {why}")
        return Standing(going=Going.RUNNING if machine else Going.QUEUED, machine=machine)


def _why_silent(address: str) -> OSError | None:
    """Why nobody answers at ``host:port``, asked for a while; None once somebody does."""
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
    import ray  # noqa: PLC0415

    try:
        yield
    except (ray.exceptions.RayError, ConnectionError, RuntimeError) as error:
        raise SchedulerError(
            f"Ray does not answer as expected: {' '.join(str(error).split())[:300]}",
            where="--on ray",
            fix="`ray status` shows the cluster; the same command goes on where it stopped",
        ) from error
