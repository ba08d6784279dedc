"""What of tasks lies on the machines of a Ray cluster: the actor that owns them, and what each of them does.

It is sent to the cluster as it stands here, and uses the standard library and Ray alone: the cluster's Python
need not have reprokit.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

_PATIENCE_S = 20.0  # for a command to close its run after SIGTERM
#: An owner without tasks ends when no one has asked it for so long.
_IDLE_S, _LOOK_S = 60.0, 0.2
#: No one learns any more how a command ends where the head node is gone for so long; Ray itself ends this
#: worker only some minutes later.
_ALONE_S, _ASK_S, _CONNECT_S = 45.0, 10.0, 5.0


class Owner:
    """The actor: it hands commands to the cluster as Ray tasks, which continue when the tool ends.

    Ray ends a task together with the process that handed it over. A worker carries out one task after
    another; an actor for each would begin a worker each, which takes seconds.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[str, Any] = {}  # task → what Ray gives for it
        self._ends: dict[str, tuple[str, str]] = {}  # task → how it ended, and why
        self._machines: dict[str, str] = {}
        self._stopped: set[str] = set()
        self._idle_s = _IDLE_S
        self._asked = time.monotonic()
        self._leaves = False

    def live(self) -> None:
        """Return once there is nothing left to do; then the actor is gone."""
        import ray

        while not self._leaves:
            time.sleep(_LOOK_S)
            with self._lock:
                self._settle()
                self._leaves = not self._open and time.monotonic() - self._asked > self._idle_s
        ray.actor.exit_actor()

    def submit(self, tasks: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]]) -> bool:
        """Hand tasks over, each as the arguments of ``carry_out`` and Ray's options; False once it leaves."""
        import ray

        this, remote = ray.get_runtime_context().current_actor, ray.remote(carry_out)
        with self._lock:
            if self._leaves:
                return False
            self._asked = time.monotonic()
            for arguments, options in tasks:
                task = remote.options(max_retries=0, **options).remote(this, **arguments)
                self._open[arguments["name"]] = task
        return True

    def begins(self, name: str, machine: str) -> None:
        """A task tells on which machine it is carried out."""
        self._machines[name] = machine

    def standings(self, names: Sequence[str]) -> list[tuple[str, str, str]]:
        """How far tasks are, the machine of each, and why it did not end by itself."""
        with self._lock:
            self._asked = time.monotonic()
            self._settle()
            return [self._standing(name) for name in names]

    def stop(self, names: Sequence[str]) -> None:
        """Ask the commands of these tasks to end."""
        import ray

        with self._lock:
            self._settle()
            for name in self._open.keys() & set(names) - self._stopped:
                self._stopped.add(name)
                ray.cancel(self._open[name])

    def leave(self) -> None:
        """No one will ask any more: end with the last task."""
        self._idle_s = 0.0

    def _standing(self, name: str) -> tuple[str, str, str]:
        machine = self._machines.get(name, "")
        if name in self._open:
            return "running" if machine else "queued", machine, ""
        going, why = self._ends.get(name, ("unknown", "Ray has no such task"))
        return going, machine, why

    def _settle(self) -> None:
        """Learn which tasks have ended."""
        import ray

        names = {task: name for name, task in self._open.items()}
        if not names:
            return
        ended, _ = ray.wait(list(names), num_returns=len(names), timeout=0, fetch_local=False)
        for task in ended:
            name = names[task]
            try:
                end = (str(ray.get(task)), "")
            except ray.exceptions.TaskCancelledError:  # before its command began
                end = ("stopped", "")
            except ray.exceptions.RayError as error:
                end = ("lost", f"its worker was lost: {' '.join(str(error).split())[:200]}")
            self._ends[name] = ("stopped", "") if name in self._stopped else end
            del self._open[name]


#: The process that carries out the commands of this worker, and what it was started with.
_KEPT: dict[str, Any] = {}


def carry_out(
    owner: Any,
    *,
    name: str,
    process_of: Mapping[str, Any],
    words: Sequence[str],
    log: str,
    timeout_s: float | None,
) -> str:
    """The task: one command of a process that is kept for the next, with a pipe that closes with this worker.

    Ray interrupts it where it is to be stopped. ``process_of`` is what that process is started with: its
    ``server``, ``environment`` and ``folder``.
    """
    import ray

    context = ray.get_runtime_context()
    machine = str(context.get_node_id())
    owner.begins.remote(name, machine)
    has_ended, process = threading.Event(), None
    try:
        process = _process(process_of, log)
        told = (process, context.gcs_address, has_ended)
        threading.Thread(target=_end_without, args=told, daemon=True).start()
        line = {"words": [*words, "--node", machine, "--until-closed", "0"], "log": log}
        process.stdin.write(json.dumps(line).encode() + b"\n")
        process.stdin.flush()
        if _has_answered(process, timeout_s):
            return "ended"
        _end(process)
    except OSError as error:
        _KEPT.clear()
        _say(log, error)
        return "ended"
    except KeyboardInterrupt:
        if process is not None:
            _end(process)
        return "stopped"
    finally:
        has_ended.set()
    return "timed_out"


def _process(process_of: Mapping[str, Any], log: str) -> Any:
    """The process that is kept; another one where it has ended, or was started with something else."""
    started_with = dict(process_of)
    process = _KEPT.get("process")
    if process is not None and _KEPT["started_with"] != started_with:
        process.stdin.close()
    if process is None or process.stdin.closed or process.poll() is not None:
        with open(log, "ab") as stream:  # noqa: PTH123
            process = subprocess.Popen(
                started_with["server"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stream,
                cwd=started_with["folder"],
                env=started_with["environment"],
                start_new_session=True,
            )
        _KEPT.update(process=process, started_with=started_with)
    return process


def _has_answered(process: Any, timeout_s: float | None) -> bool:
    """Whether its command, or the process itself, ends within a time."""
    until = time.monotonic() + (threading.TIMEOUT_MAX if timeout_s is None else timeout_s)
    while time.monotonic() < until:
        # In short waits, because a long one is not interrupted.
        if select.select([process.stdout], [], [], min(_LOOK_S, until - time.monotonic()))[0]:
            if not process.stdout.readline():
                _KEPT.clear()
            return True
    return False


def _end_without(process: Any, head: str, has_ended: threading.Event) -> None:
    """Close the command's pipe, which ends it, once no one has answered at ``host:port`` for a while."""
    host, _, port = head.rpartition(":")
    answered = time.monotonic()
    while not has_ended.wait(_ASK_S):
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=_CONNECT_S).close()
            answered = time.monotonic()
        except OSError:
            if time.monotonic() - answered > _ALONE_S:
                process.stdin.close()
                return


def _end(process: Any) -> None:
    """End its command, and the process with it."""
    _KEPT.clear()
    process.terminate()
    if not _has_answered(process, _PATIENCE_S):
        os.killpg(process.pid, signal.SIGKILL)
    process.stdin.close()
    process.wait()


def _say(log: str, error: OSError) -> None:
    with contextlib.suppress(OSError), open(log, "a") as stream:  # noqa: PTH123
        stream.write(f"the command could not be started: {error}\n")
