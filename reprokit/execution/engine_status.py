"""Whether a container engine can be used: asked where the Docker SDK, an extra, may be missing.

>>> engine_status().reachable
True
"""

from __future__ import annotations

from dataclasses import dataclass

from reprokit import extras
from reprokit.errors import MissingExtraError


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineStatus:
    """What an engine reports of itself, or why it cannot be reached (``error``, ``remedy``).

    Attributes:
        api_version: The newest API that it has.
        storage_driver: Such as ``overlay2``.
        rootless: Whether it runs without root.
        podman: Whether it is Podman, which has Docker's API too.
        cgroup_version: ``1`` or ``2``.
        security_options: Such as ``seccomp``, ``apparmor``, ``userns``, ``rootless``.
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


def engine_status() -> EngineStatus:
    """Ask the engine what it is; never raises, and takes under a second when there is none."""
    try:
        extras.must_have("docker")
    except MissingExtraError as error:
        return EngineStatus(reachable=False, error=error.what, remedy=error.fix or "")
    from reprokit.execution import docker_engine  # noqa: PLC0415  (the docker SDK)

    return docker_engine.engine_status()
