"""The container engine: is one there, what is it, and why not.

This module knows how to ask an engine about itself and how to read the SDK's errors; it refuses
to know containers.

    >>> engine_status().reachable
    True
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import docker
import requests
from docker.context import ContextAPI
from docker.errors import APIError, DockerException

ClientFactory = Callable[[], docker.DockerClient]
# What the SDK raises when it cannot talk to the engine. On a dying engine that is also a
# ChunkedEncodingError, a RequestException; a refusal by a living engine is an APIError.
ENGINE_ERRORS = (DockerException, requests.RequestException, OSError)
_KNOCK_S = 0.8
_SLOW_ENGINE_S = 60
_QUICK_S = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineStatus:
    """What an engine says of itself, or why it says nothing.

    Attributes:
        reachable: Whether it answered.
        version: The engine's version, or None.
        api_version: The newest API that it speaks, or None.
        storage_driver: Such as ``overlay2``, or None.
        rootless: Whether it runs without root.
        podman: Whether it is Podman, which speaks Docker's language.
        cgroup_version: ``1`` or ``2``, or None.
        security_options: Such as ``seccomp``, ``apparmor``, ``userns``, ``rootless``.
        error: Why it cannot be reached, one sentence, or "".
        remedy: What to do about it, or "".
    """

    reachable: bool
    version: str | None = None
    api_version: str | None = None
    storage_driver: str | None = None
    rootless: bool = False
    podman: bool = False
    cgroup_version: str | None = None
    security_options: tuple[str, ...] = ()
    error: str = ""
    remedy: str = ""


def connect() -> docker.DockerClient:
    """A client for ``DOCKER_HOST``, else for the current Docker context, else the default socket.

    Raises:
        docker.errors.DockerException, requests.RequestException, OSError: No engine answers.
    """
    return _client(_SLOW_ENGINE_S)


def quick_connect() -> docker.DockerClient:
    """The same, giving up on an engine that is there but silent after 5 s."""
    return _client(_QUICK_S)


def engine_status(*, client_factory: ClientFactory = quick_connect) -> EngineStatus:
    """Ask the engine what it is; never raises, and takes under a second when there is none."""
    try:
        client = client_factory()
        try:
            return status_of(client)
        finally:
            client.close()
    except ENGINE_ERRORS as error:
        why, remedy = explain_unreachable(error)
        return EngineStatus(reachable=False, error=why, remedy=remedy)


def status_of(client: docker.DockerClient) -> EngineStatus:
    """What the engine behind a client says of itself.

    Raises:
        docker.errors.DockerException, requests.RequestException: It did not answer.
    """
    info: dict[str, Any] = client.info()
    options = tuple(_option_name(option) for option in info.get("SecurityOptions") or ())
    return EngineStatus(
        reachable=True,
        version=info.get("ServerVersion"),
        api_version=client.api.api_version,
        storage_driver=info.get("Driver"),
        rootless="rootless" in options or info.get("Rootless") is True,
        podman="BuildahVersion" in info,
        cgroup_version=info.get("CgroupVersion"),
        security_options=options,
    )


def _client(timeout_s: int) -> docker.DockerClient:
    _knock(_endpoint())
    return docker.from_env(timeout=timeout_s)


def _endpoint() -> str:
    """Where the SDK will look for the engine."""
    try:
        chosen = os.environ.get("DOCKER_HOST") or ContextAPI.kwargs_from_context().get("base_url")
    except DockerException:  # a broken context file; connecting will say so
        chosen = None
    return str(chosen or "unix:///var/run/docker.sock").removeprefix("http+")


def _knock(endpoint: str) -> None:
    """Open and close a connection: quicker and cleaner than the SDK when nobody is there."""
    parts = urlsplit(endpoint)
    if parts.scheme == "unix":
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as door:
            door.settimeout(_KNOCK_S)
            door.connect(parts.path)
    elif parts.scheme == "tcp" and parts.hostname:
        socket.create_connection((parts.hostname, parts.port or 2375), timeout=_KNOCK_S).close()


def _option_name(option: str) -> str:
    """``seccomp`` for ``name=seccomp,profile=default``."""
    return option.split(",", maxsplit=1)[0].removeprefix("name=")


def explain_unreachable(error: BaseException) -> tuple[str, str]:
    """Why an engine cannot be reached, and what to do: the first system error behind it decides."""
    where = _endpoint()
    cause = _system_error(error)
    instead = "or run without a container: --backend local"
    if isinstance(cause, PermissionError):
        return (
            f"this user may not talk to the container engine at {where}",
            f"sudo usermod -aG docker $USER, then log in again; {instead}",
        )
    if isinstance(cause, FileNotFoundError):
        return (
            f"no container engine at {where}",
            f"install Docker Engine and start it (sudo systemctl start docker); {instead}",
        )
    if isinstance(cause, ConnectionRefusedError):
        return (
            f"the container engine at {where} is not running",
            f"start it (sudo systemctl start docker); {instead}",
        )
    if isinstance(cause, TimeoutError) or isinstance(error, requests.Timeout):
        return (
            f"the container engine at {where} does not answer",
            f"restart it (sudo systemctl restart docker), or correct DOCKER_HOST; {instead}",
        )
    return f"the container engine at {where} cannot be used: {error}", f"see docker info; {instead}"


def _system_error(error: BaseException | None) -> OSError | None:
    """The system's own error at the root of a chain of wrapped ones."""
    seen: set[int] = set()
    found: OSError | None = None
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        if isinstance(error, OSError) and not isinstance(error, requests.RequestException):
            found = error
        error = error.__cause__ or error.__context__
    return found


def refusal(error: APIError) -> str:
    """The engine's own words for refusing a request."""
    return str(error.explanation or error).strip()
