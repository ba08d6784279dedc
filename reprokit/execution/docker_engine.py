"""The container engine itself: whether it can be reached, its version and features.

>>> engine_status().reachable
True
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import docker

from reprokit.docker_sdk import ENGINE_ERRORS, explain_unreachable, knock
from reprokit.execution.engine_status import EngineStatus

ClientFactory = Callable[[], docker.DockerClient]
_KNOCK_S = 0.8
_SLOW_ENGINE_S = 60
_QUICK_S = 5


def connect() -> docker.DockerClient:
    """A client for ``DOCKER_HOST``, else for the current Docker context, else the default socket.

    Raises:
        docker_sdk.ENGINE_ERRORS: No engine answers.
    """
    return _client(_SLOW_ENGINE_S)


def quick_connect() -> docker.DockerClient:
    """The same, giving up on an engine that is there but silent after 5 s."""
    return _client(_QUICK_S)


def engine_status(*, client_factory: ClientFactory = quick_connect) -> EngineStatus:
    """Ask the engine what it is; never raises, and takes under a second when there is none."""
    try:
        with contextlib.closing(client_factory()) as client:
            return status_of(client)
    except ENGINE_ERRORS as error:
        why, remedy = explain_unreachable(error)
        return EngineStatus(reachable=False, error=why, remedy=remedy)


def status_of(client: docker.DockerClient) -> EngineStatus:
    """What the engine behind a client reports of itself.

    Raises:
        docker_sdk.SDK_ERRORS: It did not answer.
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
    knock(timeout_s=_KNOCK_S)
    return docker.from_env(timeout=timeout_s)


def _option_name(option: str) -> str:
    """``seccomp`` for ``name=seccomp,profile=default``."""
    return option.split(",", maxsplit=1)[0].removeprefix("name=")
