"""Is an engine there, what is it, and why not."""

from __future__ import annotations

import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests
from docker.errors import APIError, DockerException

from reprokit.docker_sdk import explain_unreachable, words_of
from reprokit.execution.docker_engine import connect, engine_status


@pytest.fixture
def short_folder() -> Iterator[Path]:
    """A folder with a short path: a socket's name may have about a hundred characters."""
    with tempfile.TemporaryDirectory(prefix="rk") as folder:
        yield Path(folder)


def wrapped(cause: BaseException) -> DockerException:
    """As the SDK hands on an error of the system: twice wrapped, once without saying so."""
    middle, outer = requests.ConnectionError("Connection aborted."), DockerException("Error while fetching")
    middle.__context__ = cause
    outer.__cause__ = middle
    return outer


def test_an_engine_says_what_it_is(engine):
    engine.security_options = ["name=seccomp,profile=default", "name=rootless", "name=cgroupns"]
    status = engine_status(client_factory=engine.client)
    assert status.reachable
    assert (status.version, status.api_version, status.storage_driver) == ("99.1", "1.41", "overlay2")
    assert (status.cgroup_version, status.rootless) == ("2", True)
    assert status.security_options == ("seccomp", "rootless", "cgroupns")
    assert (status.error, status.remedy) == ("", "")


def test_an_engine_that_fails_to_answer_is_not_reachable(engine):
    engine.failing["info"] = requests.ReadTimeout("read timed out")
    status = engine_status(client_factory=engine.client)
    assert not status.reachable
    assert "does not answer" in status.error


@pytest.mark.parametrize(
    ("cause", "error", "remedy"),
    [
        (FileNotFoundError(2, "No such file"), "no container engine", "install Docker Engine"),
        (PermissionError(13, "Permission denied"), "no permission to use", "usermod -aG docker"),
        (ConnectionRefusedError(111, "refused"), "not running", "systemctl start docker"),
        (TimeoutError("timed out"), "does not answer", "restart"),
        (OSError(113, "No route to host"), "cannot be used", "docker info"),
    ],
)
def test_each_reason_has_a_remedy_of_its_own(cause: OSError, error: str, remedy: str):
    why, what_to_do = explain_unreachable(wrapped(cause))
    assert error in why
    assert remedy in what_to_do
    assert "--backend local" in what_to_do


def test_an_error_without_a_system_error_behind_it_is_told_in_its_own_words():
    why, _ = explain_unreachable(DockerException("TLS configuration is invalid"))
    assert "TLS configuration is invalid" in why


def test_a_loop_of_causes_ends():
    first, second = DockerException("a"), DockerException("b")
    first.__cause__, second.__cause__ = second, first
    assert explain_unreachable(first)[0].endswith("cannot be used: a")


def test_the_address_asked_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    status = engine_status()
    assert not status.reachable
    assert status.error == "no container engine at unix:///nowhere/docker.sock"


def test_without_an_address_the_current_context_is_asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    monkeypatch.setenv("DOCKER_CONTEXT", "not-a-context")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert "unix:///var/run/docker.sock" in explain_unreachable(OSError("x"))[0]


def test_a_socket_that_nobody_listens_on_is_an_engine_that_does_not_run(
    monkeypatch: pytest.MonkeyPatch, short_folder: Path
):
    path = short_folder / "docker.sock"
    with socket.socket(socket.AF_UNIX) as abandoned:
        abandoned.bind(str(path))
    monkeypatch.setenv("DOCKER_HOST", f"unix://{path}")
    assert "is not running" in engine_status().error


def test_a_port_that_nobody_listens_on_is_an_engine_that_does_not_run(monkeypatch: pytest.MonkeyPatch):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    monkeypatch.setenv("DOCKER_HOST", f"tcp://127.0.0.1:{port}")
    with pytest.raises(ConnectionRefusedError):
        connect()


def test_an_address_of_an_unknown_kind_is_explained(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("DOCKER_HOST", "carrier-pigeon://coop")
    status = engine_status()
    assert not status.reachable
    assert "carrier-pigeon://coop cannot be used" in status.error


def test_a_refusal_is_told_in_the_engines_own_words():
    assert words_of(APIError("400", explanation=" no such core \n")) == "no such core"
    assert words_of(APIError("just this")) == "just this"
