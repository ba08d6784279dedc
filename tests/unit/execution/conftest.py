"""A container engine made of paper: says what real ones say, fails where a test wants it to."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from docker.errors import APIError, NotFound

from reprokit.core.records import Realisation, RunLimits, RunSpec


class PaperEngine:
    """Stands in for a DockerClient and its APIClient at once.

    Attributes:
        frames: What the program prints: stream number and bytes.
        exit_code: What it returns.
        oom_killed: Whether the engine saw it run out of memory.
        failing: Name of a call → what it raises.
        waiting: Name of a call → an event that it waits for first.
        runs_until_killed: The program does not end by itself.
        containers_by_name: Those that exist.
        calls: Names of calls, in order.
    """

    api_version = "1.41"
    container_id = "5d604a4799fa239556696a5640b34376373414d0fe3daf6e3ccca43d22a869d2"

    def __init__(self) -> None:
        self.frames: list[tuple[int, bytes]] = []
        self.exit_code = 0
        self.oom_killed = False
        self.failing: dict[str, BaseException] = {}
        self.waiting: dict[str, threading.Event] = {}
        self.runs_until_killed = False
        self.containers_by_name: dict[str, dict[str, Any]] = {}
        self.calls: list[str] = []
        self.security_options = ["name=seccomp,profile=default"]
        self._running = threading.Event()
        self._killed = threading.Event()
        self._program_end: socket.socket | None = None

    @property
    def api(self) -> PaperEngine:
        return self

    def client(self) -> Any:
        """A client factory."""
        self._enter("connect")
        return self

    def close(self) -> None:
        pass

    def info(self) -> Mapping[str, Any]:
        self._enter("info")
        return {
            "ServerVersion": "99.1",
            "Driver": "overlay2",
            "CgroupVersion": "2",
            "SecurityOptions": self.security_options,
        }

    def create_container_from_config(self, config: dict[str, Any], *, name: str) -> None:
        self._enter("create")
        self.containers_by_name[name] = config

    def attach_socket(self, name: str, *, params: Mapping[str, int]) -> socket.socket:
        self._enter("attach")
        assert params == {"stdout": 1, "stderr": 1, "stream": 1}
        ours, self._program_end = socket.socketpair()
        return ours

    def start(self, name: str) -> None:
        self._enter("start")
        self._running.set()
        threading.Thread(target=self._print, daemon=True).start()

    def _print(self) -> None:
        assert self._program_end is not None
        with self._program_end as program_end:
            for stream, data in self.frames:
                program_end.sendall(struct.pack(">BxxxL", stream, len(data)) + data)
            if self.runs_until_killed:
                self._killed.wait(60)

    def kill(self, name: str) -> None:
        self._enter("kill")
        if not self._running.is_set():
            raise APIError("409", explanation="the container is not running")
        self._killed.set()
        self.exit_code = 137

    def wait(self, name: str) -> Mapping[str, int]:
        self._enter("wait")
        return {"StatusCode": self.exit_code}

    def inspect_container(self, name: str) -> Mapping[str, Any]:
        self._enter("inspect")
        config = self.containers_by_name[name]
        return {
            "Id": self.container_id,
            "Image": config["Image"],
            "Config": config,
            "HostConfig": config["HostConfig"],
            "State": {"OOMKilled": self.oom_killed, "ExitCode": self.exit_code},
            "Mounts": [
                {"Destination": mount["Target"], "RW": not mount["ReadOnly"]}
                for mount in config["HostConfig"]["Mounts"]
            ],
        }

    def containers(self, *, all: bool, filters: Mapping[str, list[str]]) -> list[dict[str, Any]]:  # noqa: A002
        self._enter("containers")
        assert all
        wanted = dict(label.split("=", 1) for label in filters["label"])
        return [
            {"Id": name, "Names": [f"/{name}"], "Labels": config["Labels"]}
            for name, config in self.containers_by_name.items()
            if wanted.items() <= config["Labels"].items()
        ]

    def remove_container(self, name: str, *, force: bool, v: bool) -> None:
        self._enter("remove")
        assert force
        assert v
        if name not in self.containers_by_name:
            raise NotFound("no such container")
        self._killed.set()
        del self.containers_by_name[name]

    def refuse(self, call: str, words: str) -> None:
        """Make a call answer with an error of the engine's."""
        self.failing[call] = APIError("refused", explanation=words)

    def hang_up(self) -> None:
        """Close what is still open."""
        if self._program_end is not None:
            self._program_end.close()

    def _enter(self, call: str) -> None:
        self.calls.append(call)
        if call in self.waiting:
            assert self.waiting[call].wait(10)
        if call in self.failing:
            raise self.failing[call]


@pytest.fixture
def engine() -> Iterator[PaperEngine]:
    paper = PaperEngine()
    yield paper
    paper.hang_up()


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    (tmp_path / "output").mkdir()
    return tmp_path


@pytest.fixture
def container_spec() -> RunSpec:
    """A run in a container that prints nothing and asks for little."""
    return RunSpec(
        recipe="cartpole",
        run_id="run-1",
        seed=7,
        device="cpu",
        command=("{python}", "{code}/train.py", "--seed", "{seed}", "--out", "{run_dir}"),
        realisation=Realisation(
            variant="cpu",
            kind="image",
            reference="sha256:abc",
            digest="sha256:abc",
            python="/opt/python",
            lock_digest="sha256:def",
        ),
        limits=RunLimits(),
    )
