"""One container from its creation to its removal, on a thread that no signal interrupts.

Ctrl-C reaches only the main thread. As the engine is called from another one, an interruption never
falls between the engine creating a container and our knowing its name.

    >>> life = ContainerLife(config, name="reprokit-x", client_factory=docker.from_env, stdout=o, stderr=e)
    >>> life.start(); life.ended.wait(); life.exit_code
    0
"""

from __future__ import annotations

import atexit
import contextlib
import threading
import time
from collections.abc import Mapping
from typing import Any, BinaryIO

import docker
from docker.utils.socket import frames_iter

from reprokit.core.records import Outcome
from reprokit.docker_sdk import ENGINE_ERRORS, DockerFault, explain_unreachable, fault_of, words_of
from reprokit.execution.docker_engine import ClientFactory
from reprokit.execution.kernel_log import KernelLog, Killed, MemoryKills
from reprokit.execution.outcome import Explanation, cannot_write, start_refused

_STREAMS = {"stdout": 1, "stderr": 1, "stream": 1}
_STOP_LIMIT_S = 10.0
_NOTICE_LIMIT_S = 1.0


class ContainerLife(threading.Thread):
    """A container from its creation to its removal; ``start`` returns at once.

    Attributes:
        began_s: Monotonic time at which the program was started, or None.
        ended: Set when the container is gone, or was never created, or the engine is lost.
        failure: Why the program did not end by itself, or None.
        exit_code: What the container's first process returned, or None.
        inspected: The engine's inspection of the container after its end, or empty.
        killed: Whether the kernel killed a process of the container for lack of memory, as its log says.
    """

    def __init__(
        self,
        config: Mapping[str, Any],
        *,
        name: str,
        client_factory: ClientFactory,
        stdout: BinaryIO,
        stderr: BinaryIO,
    ) -> None:
        super().__init__(name=name, daemon=True)
        self.began_s: float | None = None
        self.ended = threading.Event()
        self.failure: Explanation | None = None
        self.exit_code: int | None = None
        self.inspected: Mapping[str, Any] = {}
        self.killed = Killed.UNKNOWN
        self._config = config
        self._client_factory = client_factory
        self._logs = {1: stdout, 2: stderr}
        self._unwanted = threading.Event()
        self._client: docker.DockerClient | None = None

    def start(self) -> None:
        """Begin; what an interruption keeps ``stop`` from removing is removed when this process ends."""
        atexit.register(self.stop)
        super().start()

    def stop(self) -> None:
        """Kill the container if there is one, and wait until it is gone (at most 10 s).

        Further interruptions are held back meanwhile. A silent engine makes this give up; then
        ``remove_orphans`` does the rest.
        """
        deadline, asked = time.monotonic() + _STOP_LIMIT_S, False
        while not self.ended.is_set() and time.monotonic() < deadline:
            with contextlib.suppress(KeyboardInterrupt, SystemExit):
                self._unwanted.set()
                if not asked:
                    self._kill_meanwhile()
                    asked = True
                self.ended.wait(0.1)
        atexit.unregister(self.stop)

    def run(self) -> None:
        """Make it, follow it to its end and remove it: what the thread does."""
        try:
            with contextlib.closing(self._client_factory()) as client:
                self._client, api = client, client.api
                try:
                    config = dict(self._config)
                    api.create_container_from_config(config, name=self.name)  # type: ignore[no-untyped-call]
                    if not self._unwanted.is_set():
                        self._follow(api)
                except ENGINE_ERRORS as error:
                    self.failure = self.failure or _explained(error, image=self._config["Image"])
                finally:
                    with contextlib.suppress(*ENGINE_ERRORS):
                        api.remove_container(self.name, force=True, v=True)
        except ENGINE_ERRORS as error:
            why, remedy = explain_unreachable(error)
            self.failure = Explanation(outcome=Outcome.ENGINE_MISSING, message=why, remedy=remedy)
        finally:
            for log in self._logs.values():
                log.close()
            self.ended.set()

    def _follow(self, api: docker.APIClient) -> None:
        stream = api.attach_socket(self.name, params=_STREAMS)
        # Closing the stream alone leaves the connection open: the SDK keeps it on this attribute.
        with KernelLog() as kernel_log:
            with contextlib.closing(getattr(stream, "_response", stream)):
                api.start(self.name)
                self.began_s = time.monotonic()
                if self._unwanted.is_set():  # asked to stop while it was starting
                    self._kill()
                self._copy_output(stream)
            try:
                self.exit_code = int(api.wait(self.name)["StatusCode"])
                self._inspect(api, kernel_log.kills())
            except ENGINE_ERRORS as error:  # a refusal too: an engine that shuts down refuses to wait
                removed = fault_of(error) is DockerFault.NOT_THERE
                self.failure = self.failure or (_removed_by_others() if removed else engine_lost(error))

    def _inspect(self, api: docker.APIClient, kills: MemoryKills) -> None:
        """Ask the engine; where only it can tell whether memory ran out, until it has (at most 1 s)."""
        deadline = time.monotonic() + _NOTICE_LIMIT_S
        while True:
            self.inspected = api.inspect_container(self.name)
            self.killed = kills.of(self.inspected.get("Id", ""))
            noticed = self.inspected["State"].get("OOMKilled", False)
            if noticed or self.killed is not Killed.UNKNOWN or time.monotonic() >= deadline:
                return
            time.sleep(0.1)

    def _copy_output(self, stream: Any) -> None:
        """Write what the program prints to its logs, byte for byte, until its end.

        When a log cannot be written, reading continues: an engine whose output is not read cannot
        even kill the container.
        """
        frames = frames_iter(stream, tty=False)  # type: ignore[no-untyped-call]  # not in the stubs
        while True:
            try:
                number, data = next(frames, (0, b""))
            except OSError:  # the engine went away; waiting for the exit code will say so
                return
            if not data:
                return
            if self.failure is None:
                self._write(self._logs.get(number, self._logs[2]), data)  # 3 is the engine speaking

    def _write(self, log: BinaryIO, data: bytes) -> None:
        try:
            rest = memoryview(data)
            while rest:  # an unbuffered file may take less than all at once
                rest = rest[log.write(rest) :]
        except OSError as error:
            self.failure = cannot_write(str(log.name), error)
            self._kill_meanwhile()

    def _kill_meanwhile(self) -> None:
        threading.Thread(target=self._kill, name=f"{self.name}-kill", daemon=True).start()

    def _kill(self) -> None:
        with contextlib.suppress(*ENGINE_ERRORS):
            if self._client is not None:
                self._client.api.kill(self.name)


def _explained(error: BaseException, *, image: str) -> Explanation:
    """Why the engine did not create, start or follow a container."""
    fault = fault_of(error)
    if fault is DockerFault.IMAGE_MISSING:
        message, remedy = f"the engine has no image {image}", "build it: reprokit image build"
        return Explanation(outcome=Outcome.IMAGE_MISSING, message=message, remedy=remedy)
    return engine_lost(error) if fault is DockerFault.GONE else _refused(words_of(error))


def _refused(words: str) -> Explanation:
    if "no space left on device" in words.lower():
        return Explanation(
            outcome=Outcome.DISK_FULL,
            message=f"the engine's own disk is full: {words}",
            remedy="free space where the engine keeps its data: docker system df, docker image prune",
        )
    if "device driver" in words and "gpu" in words:
        return start_refused(words, "install the NVIDIA container toolkit, so that containers get the GPU")
    if "container-init binary not found" in words:
        return start_refused(words, "install Podman's init program: sudo apt-get install catatonit")
    if "bind source path does not exist" in words:
        return start_refused(words, "use an engine on this host: containers mount its folders")
    return start_refused(words)


def _removed_by_others() -> Explanation:
    return Explanation(
        outcome=Outcome.SIGNALLED,
        message="the container was removed from outside while the program ran",
        remedy="find out who removed it (docker rm, docker prune), then run it again",
    )


def engine_lost(error: BaseException | None = None) -> Explanation:
    """The engine stopped answering while the program ran."""
    words = f" ({type(error).__name__})" if error else ""
    return Explanation(
        outcome=Outcome.ENGINE_LOST,
        message=f"the container engine went away while the program ran{words}",
        remedy="start the engine again (sudo systemctl start docker), then run it again: "
        "what is left of the container is removed then",
    )
