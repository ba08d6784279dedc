"""What a killed tool left is asked of the engine's socket; the SDK is loaded only where there may be some."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from reprokit.execution import docker_orphans, engine_socket

Engine = Callable[[bytes], Path]


@pytest.fixture
def engine(tmp_path) -> Iterator[Engine]:
    """An engine that answers one request with these bytes; its socket."""
    doors: list[socket.socket] = []

    def listen(answer: bytes) -> Path:
        door = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        doors.append(door)
        path = tmp_path / f"{len(doors)}.sock"
        door.bind(str(path))
        door.listen()

        def serve() -> None:
            guest, _ = door.accept()
            with guest:
                guest.recv(4096)
                guest.sendall(answer)

        threading.Thread(target=serve, daemon=True).start()
        return path

    yield listen
    for door in doors:
        door.close()


@pytest.fixture
def by_sdk(monkeypatch, tmp_path) -> list[str]:
    """The workspaces that the SDK was asked about."""
    asked: list[str] = []

    def remove(workspace: str) -> tuple[str, ...]:
        asked.append(workspace)
        return ("left",)

    monkeypatch.setattr(docker_orphans, "remove_orphans", remove)
    for name in ("DOCKER_HOST", "DOCKER_CONTEXT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    return asked


def test_an_engine_that_has_none_is_not_asked_again(engine: Engine, by_sdk):
    path = engine(b"HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n[]\n")
    assert engine_socket.remove_orphans("/runs", socket_path=path) == ()
    assert by_sdk == []


def test_without_an_engine_nothing_runs(tmp_path, by_sdk):
    assert engine_socket.remove_orphans("/runs", socket_path=tmp_path / "nowhere.sock") == ()
    assert by_sdk == []


@pytest.mark.parametrize(
    "answer",
    [
        b'HTTP/1.0 200 OK\r\n\r\n[{"Id": "1"}]',
        b"HTTP/1.0 500 Internal Server Error\r\n\r\n[]",
        b"HTTP/1.0 200 OK\r\n",
        b"",
    ],
)
def test_any_other_answer_is_left_to_the_sdk(engine: Engine, by_sdk, answer):
    assert engine_socket.remove_orphans("/runs", socket_path=engine(answer)) == ("left",)
    assert by_sdk == ["/runs"]


@pytest.mark.parametrize("name", ["DOCKER_HOST", "DOCKER_CONTEXT"])
def test_an_engine_elsewhere_is_left_to_the_sdk(tmp_path, by_sdk, monkeypatch, name):
    monkeypatch.setenv(name, "tcp://elsewhere")
    assert engine_socket.remove_orphans("/runs", socket_path=tmp_path / "nowhere.sock") == ("left",)


def test_a_context_of_the_client_is_left_to_the_sdk(tmp_path, by_sdk):
    (tmp_path / "config.json").write_text("{}")
    assert engine_socket.remove_orphans("/runs", socket_path=tmp_path / "nowhere.sock") == ("left",)
