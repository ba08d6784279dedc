"""The container engine's images, found by label and ID and never by a moving tag alone."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import docker
from docker import DockerClient

from reprokit import docker_sdk
from reprokit.images.building.architecture import MACHINES

# Labels that say what an image is. CONTENT is a digest of everything that went in.
CONTENT = "dev.reprokit.content"
VARIANT = "dev.reprokit.variant"
LOCK = "dev.reprokit.lock"
BASE = "dev.reprokit.base"
STAGE = "dev.reprokit.stage"
BOOTSTRAP = "dev.reprokit.bootstrap"
BOOTSTRAP_DIGEST = "dev.reprokit.bootstrap-digest"

#: The interpreter in every image.
PYTHON = "/opt/reprokit/bin/python"

_PODMAN_S_OWN = "localhost/"  # what Podman puts before a name that has no registry
_TIMEOUT_S = 600
_KNOCK_S = 3.0
_LATE_S = 5.0


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
    """The engine of ``DOCKER_HOST``, else of the default socket; waits ``timeout_s`` for each answer.

    Raises:
        EngineError: No engine answers, or it goes away meanwhile.
        ImageError: The engine refuses a request, and the caller does not handle it.
    """
    try:
        docker_sdk.knock(timeout_s=_KNOCK_S)
        client = docker.from_env(timeout=timeout_s)
    except docker_sdk.ENGINE_ERRORS as error:
        raise docker_sdk.no_answer(error) from error
    with contextlib.closing(client):
        try:
            yield client
        except docker_sdk.SDK_ERRORS as error:
            raise docker_sdk.as_ours(error) from error


def machine(client: DockerClient) -> str:
    """The kind of CPU that the engine's containers see: ``x86_64`` or ``aarch64``."""
    name = str(client.version()["Arch"])
    return MACHINES.get(name, name)


def images_with(client: DockerClient, label: str, *, hidden: bool = False) -> list[StoredImage]:
    """Every image with a label (``key`` or ``key=value``), newest first.

    ``hidden``: those without a name, too, that others are made on top of.
    """
    rows = client.api.images(all=hidden, filters={"label": [label]})
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
    """The image with that label and tag, or None: whoever made it (``find_known``)."""
    return next((image for image in images_with(client, f"{label}={value}") if tag in image.tags), None)


def find_known(
    client: DockerClient, label: str, value: str, *, is_known: Callable[[str], bool]
) -> StoredImage | None:
    """The image with that label whose ID is known, or None.

    Labels are what anyone may write on an image, and images that are made on top of one inherit them. The
    name may have gone to another one since.
    """
    found = images_with(client, f"{label}={value}", hidden=True)
    return next((one for one in found if is_known(one.id)), None)


def find_reference(client: DockerClient, reference: str) -> str | None:
    """The ID of the image with that name and digest, if the engine has it."""
    try:
        return str(client.images.get(reference).id)
    except docker_sdk.SDK_ERRORS as error:
        if docker_sdk.fault_of(error) is not docker_sdk.DockerFault.IMAGE_MISSING:
            raise
        return None


def sweep_late_stages(client: DockerClient, content: str) -> None:
    """The same after a build that was broken off: the engine finishes the step that it is at."""
    deadline = time.monotonic() + _LATE_S
    while True:
        sweep_stages(client, content)
        if time.monotonic() >= deadline:
            return
        time.sleep(_LATE_S / 10)


def sweep_stages(client: DockerClient, content: str) -> None:
    """Remove what a finished, broken or killed build of this content left behind."""
    with docker_sdk.suppressed(*docker_sdk.ANSWERS):
        client.images.prune(filters={"dangling": True, "label": f"{STAGE}={content}"})
