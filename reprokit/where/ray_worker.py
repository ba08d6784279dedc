"""What of a task lies on a machine of a Ray cluster: an actor that carries out one command.

It is sent to the cluster as it stands here, and uses the standard library and Ray alone: the cluster's Python
need not have reprokit.
"""

from __future__ import annotations

import contextlib
import socket
import subprocess
import threading
import time

_PATIENCE_S = 20.0  # for a command to close its run after SIGTERM
_ANSWERING_S = 0.1
#: Nobody learns any more how a command ends where the head node is gone for so long; Ray itself ends this
#: worker only some minutes later.
_ALONE_S, _ASK_S, _CONNECT_S = 45.0, 10.0, 5.0


class Command:
    """The actor: one command as a process, with a pipe that closes when this worker is gone."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._has_ended = threading.Event()
        self._lock = threading.Lock()
        self._going = "ended"

    def machine(self) -> str:
        """Ray's name of this machine."""
        import ray  # noqa: PLC0415

        return str(ray.get_runtime_context().get_node_id())

    def run(
        self, command: list[str], environment: dict[str, str], folder: str, log: str, timeout_s: float | None
    ) -> None:
        """Carry the command out; then the actor is gone."""
        import ray  # noqa: PLC0415

        try:
            with open(log, "ab") as stream, self._lock:  # noqa: PTH123
                if not self._has_ended.is_set():
                    self._process = subprocess.Popen(
                        [*command, "--node", self.machine(), "--until-closed", "0"],
                        stdin=subprocess.PIPE,
                        stdout=stream,
                        stderr=subprocess.STDOUT,
                        cwd=folder,
                        env=environment,
                        start_new_session=True,
                    )
            if self._process is not None:
                head = ray.get_runtime_context().gcs_address
                threading.Thread(target=self._end_without, args=(head,), daemon=True).start()
                self._wait(timeout_s)
        except OSError as error:
            self._say(log, error)
        finally:
            self._has_ended.set()
        time.sleep(_ANSWERING_S)  # for those who wait for the end
        ray.actor.exit_actor()

    def ended(self) -> str:
        """How the command ended, once it has."""
        self._has_ended.wait()
        return self._going

    def stop(self) -> None:
        """Ask the command to end."""
        with self._lock:
            self._going = "stopped"
            if self._process is None:
                self._has_ended.set()
                return
        threading.Thread(target=self._end, daemon=True).start()

    def _end_without(self, head: str) -> None:
        """Close the command's pipe, which ends it, once nobody has answered at ``host:port`` for a while."""
        assert self._process is not None and self._process.stdin is not None  # noqa: S101, PT018
        host, _, port = head.rpartition(":")
        answered = time.monotonic()
        while not self._has_ended.wait(_ASK_S):
            try:
                socket.create_connection((host.strip("[]"), int(port)), timeout=_CONNECT_S).close()
                answered = time.monotonic()
            except OSError:
                if time.monotonic() - answered > _ALONE_S:
                    self._process.stdin.close()
                    return

    def _wait(self, timeout_s: float | None) -> None:
        assert self._process is not None  # noqa: S101
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self._going = "timed_out"
            self._end()

    def _end(self) -> None:
        assert self._process is not None  # noqa: S101
        self._process.terminate()
        try:
            self._process.wait(_PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _say(self, log: str, error: OSError) -> None:
        with contextlib.suppress(OSError), open(log, "a") as stream:  # noqa: PTH123
            stream.write(f"the command could not be started: {error}\n")
