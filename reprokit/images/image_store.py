"""The container engine as the place where images lie: found by label, never by a moving tag.

This module knows the Docker SDK's images and its errors; it refuses to run containers.

    >>> with connected() as client:
    ...     find(client, CONTENT, content, tag="reprokit/cpu:2f41c09d1ab29e77")
"""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

import docker
import docker.errors
import requests
from docker import DockerClient
from docker.context import ContextAPI

from reprokit.errors import EngineError, ImageError

# Labels that say what an image is. CONTENT is a digest of everything that went in.
CONTENT = "dev.reprokit.content"
VARIANT = "dev.reprokit.variant"
LOCK = "dev.reprokit.lock"
BASE = "dev.reprokit.base"
STAGE = "dev.reprokit.stage"
BOOTSTRAP = "dev.reprokit.bootstrap"
BOOTSTRAP_DIGEST = "dev.reprokit.bootstrap-digest"

_PODMAN_S_OWN = "localhost/"  # what Podman puts before a name that has no registry
_TIMEOUT_S = 600
_KNOCK_S = 3.0
_MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}
_FIX = "start it (`sudo systemctl start docker`, or .ci/bring-up-engine), or use --backend local"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredImage:
    """An image as the engine lists it; ``created`` in seconds since 1970."""

    id: str
    tags: tuple[str, ...]
    labels: Mapping[str, str]
    size_bytes: int
    created: int


@contextlib.contextmanager
def connected(*, timeout_s: int = _TIMEOUT_S) -> Iterator[DockerClient]:
    """The engine of ``DOCKER_HOST``, else of the default socket.

    Args:
        timeout_s: Longest wait for an answer, in seconds.

    Raises:
        EngineError: No engine answers, or it goes away meanwhile.
        ImageError: The engine refuses something that the caller has no word of its own for.
    """
    try:
        _knock()
        client = docker.from_env(timeout=timeout_s)
    except (docker.errors.DockerException, requests.RequestException, OSError) as error:
        raise EngineError(
            "the container engine does not answer", where=_endpoint(), actual=str(error), fix=_FIX
        ) from error
    with contextlib.closing(client):
        try:
            yield client
        except docker.errors.APIError as error:
            raise ImageError(
                "the container engine refused", actual=str(error.explanation or error)
            ) from error
        except (docker.errors.DockerException, requests.RequestException) as error:
            raise EngineError("the container engine went away", actual=str(error), fix=_FIX) from error


def _knock() -> None:
    """Open and close the engine's socket: the SDK leaks its own when nobody listens."""
    parts = urlsplit(_endpoint())
    if parts.scheme == "unix":
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as door:
            door.settimeout(_KNOCK_S)
            door.connect(parts.path)


def _endpoint() -> str:
    """The engine's address, as the SDK finds it."""
    named = os.environ.get("DOCKER_HOST") or ContextAPI.kwargs_from_context().get("base_url")
    return str(named or "unix:///var/run/docker.sock").removeprefix("http+")


def machine(client: DockerClient) -> str:
    """The kind of CPU that the engine's containers see: ``x86_64`` or ``aarch64``."""
    name = str(client.version()["Arch"])
    return _MACHINES.get(name, name)


def architecture(machine_name: str) -> str:
    """The same in the words of container images: ``amd64`` or ``arm64``."""
    return {value: key for key, value in _MACHINES.items()}.get(machine_name, machine_name)


def images_with(client: DockerClient, label: str) -> list[StoredImage]:
    """Every image with a label (``key`` or ``key=value``), newest first."""
    rows = client.api.images(filters={"label": [label]})
    found = [
        StoredImage(
            id=str(row["Id"]),
            tags=tuple(tag.removeprefix(_PODMAN_S_OWN) for tag in row.get("RepoTags") or ()),
            labels=dict(row.get("Labels") or {}),
            size_bytes=int(row.get("Size") or 0),
            created=int(row.get("Created") or 0),
        )
        for row in rows
    ]
    return sorted(found, key=lambda image: (-image.created, image.id))


def find(client: DockerClient, label: str, value: str, *, tag: str) -> StoredImage | None:
    """The image with that label and with the tag that only reprokit gives it, or None.

    The label decides. The tag tells it from images that people made on top of it, which inherit
    its labels.
    """
    return next((one for one in images_with(client, f"{label}={value}") if tag in one.tags), None)


def find_reference(client: DockerClient, reference: str) -> str | None:
    """The ID of the image with that name and digest, if the engine has it."""
    try:
        return str(client.images.get(reference).id)
    except docker.errors.ImageNotFound:
        return None


def sweep_stages(client: DockerClient, content: str) -> None:
    """Remove what a finished, broken or killed build of this content left behind."""
    with contextlib.suppress(docker.errors.APIError):
        client.images.prune(filters={"dangling": True, "label": f"{STAGE}={content}"})
