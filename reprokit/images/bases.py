"""What an image is built on: a registry's image by digest, or a base from distribution packages.

This module knows how to get either; it refuses to know what is put on top.

    >>> obtain(client, lock, kind="bootstrap", machine="x86_64", cache=cache, on_progress=print).title
    'bootstrap:sha256:5f0c…'
"""

from __future__ import annotations

import contextlib
import os
import platform
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import docker.errors
import requests
from docker import DockerClient

from reprokit.core.records import digest
from reprokit.errors import EngineError, ImageError, UsageError
from reprokit.images import engine
from reprokit.images.archive import write_archive
from reprokit.images.cache import Progress, held
from reprokit.images.commands import heartbeat, run_command
from reprokit.images.locks import BootstrapBase, Lock, RegistryBase
from reprokit.workspace import cannot_write, sha256_of

REGISTRY = "registry"
BOOTSTRAP = "bootstrap"
AUTO = "auto"
_PROBE_S = 3
_RECIPE_VERSION = 1  # of how a base is bootstrapped; raise it when `_mmdebstrap` changes what comes out


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """An image to build on.

    Attributes:
        id: Its ID in the engine.
        title: What it is, for people and records: ``name:tag@sha256:…`` or ``bootstrap:sha256:…``
            (the digest of the root file system).
        name: The first part of the title.
        digest: The second, ``sha256:…``.
    """

    id: str
    name: str
    digest: str
    title: str


def allowed_kinds(wanted: str) -> tuple[str, ...]:
    """The kinds that ``auto``, ``registry`` or ``bootstrap`` allows, the better one first.

    Raises:
        UsageError: It is none of the three.
    """
    kinds = {AUTO: (REGISTRY, BOOTSTRAP), REGISTRY: (REGISTRY,), BOOTSTRAP: (BOOTSTRAP,)}
    if wanted not in kinds:
        raise UsageError("there is no such base", expected=" or ".join(kinds), actual=repr(wanted))
    return kinds[wanted]


def identity(lock: Lock, *, kind: str, machine: str) -> str:
    """What goes into the digest of everything built on this base: known without building it."""
    if kind == REGISTRY:
        return lock.registry.reference
    definition = lock.bootstrap
    return "bootstrap:" + digest(
        {
            "recipe_version": _RECIPE_VERSION,
            "suite": definition.suite,
            "packages": sorted(definition.packages),
            "epoch": definition.epoch,
            "machine": machine,
        }
    )


def choose(client: DockerClient, lock: Lock, *, wanted: str, on_progress: Progress) -> str:
    """Settle on one kind; ``auto`` asks the engine whether it reaches the registry, for 3 s at most."""
    kinds = allowed_kinds(wanted)
    if len(kinds) == 1 or engine.find_reference(client, lock.registry.reference):
        return kinds[0]
    try:
        with engine.connected(timeout_s=_PROBE_S) as impatient:
            impatient.api.inspect_distribution(lock.registry.reference)  # type: ignore[no-untyped-call]
    except (EngineError, ImageError) as error:
        on_progress(
            f"base: the engine cannot reach {lock.registry.image} ({_short(error.actual)}); "
            f"building on an equivalent base from {lock.bootstrap.suite} packages"
        )
        return BOOTSTRAP
    return REGISTRY


def obtain(
    client: DockerClient, lock: Lock, *, kind: str, machine: str, cache: Path, on_progress: Progress
) -> Base:
    """Find the base in the engine, or pull it, or make it.

    Raises:
        ImageError: It cannot be had; the message says what to do.
    """
    if kind == REGISTRY:
        return _from_registry(client, lock.registry, on_progress=on_progress)
    with held(cache, f"base-{machine}", on_progress=on_progress):
        wanted = identity(lock, kind=BOOTSTRAP, machine=machine)
        tag = f"reprokit/base:{wanted.rsplit(':', 1)[1][:16]}"
        found = engine.find(client, engine.BOOTSTRAP, wanted, tag=tag)
        if found is None:
            with _scratch(cache) as scratch:
                _bootstrap(client, lock.bootstrap, wanted, tag, machine, scratch, on_progress)
            found = engine.find(client, engine.BOOTSTRAP, wanted, tag=tag)
    if found is None:
        raise ImageError("the engine took the base, but does not have it", where=tag)
    rootfs = found.labels[engine.BOOTSTRAP_DIGEST]
    return Base(id=found.id, name=BOOTSTRAP, digest=rootfs, title=f"{BOOTSTRAP}:{rootfs}")


def _from_registry(client: DockerClient, base: RegistryBase, *, on_progress: Progress) -> Base:
    found = engine.find_reference(client, base.reference)
    if found is None:
        try:
            with heartbeat(on_progress, f"base: pulling {base.title}"):
                client.images.pull(base.reference)
        except (docker.errors.APIError, requests.RequestException) as error:
            raise ImageError(
                "the base image cannot be pulled",
                where=base.reference,
                actual=_short(error),
                fix="check the engine's network, or build on distribution packages: --base bootstrap",
            ) from error
        found = engine.find_reference(client, base.reference)
    if found is None:
        raise ImageError("the engine pulled the base, but does not have it", where=base.reference)
    return Base(id=found, name=f"{base.image}:{base.tag}", digest=base.digest, title=base.title)


@contextlib.contextmanager
def _scratch(cache: Path) -> Iterator[Path]:
    try:
        with tempfile.TemporaryDirectory(prefix="base-", dir=cache) as name:
            yield Path(name)
    except OSError as error:
        raise cannot_write(cache, error) from error


def _bootstrap(
    client: DockerClient,
    base: BootstrapBase,
    wanted: str,
    tag: str,
    machine: str,
    scratch: Path,
    on_progress: Progress,
) -> None:
    if machine != platform.machine():
        raise ImageError(
            "a base for the engine's kind of machine cannot be made on this one",
            expected=machine,
            actual=platform.machine(),
            fix="give the engine access to the registry: --base registry",
        )
    architecture = engine.architecture(machine)
    rootfs, archive = scratch / "rootfs.tar", scratch / "image.tar"
    with heartbeat(on_progress, f"base: installing {base.suite} packages"):
        _mmdebstrap(base, rootfs, architecture=architecture)
    labels = {engine.BOOTSTRAP: wanted, engine.BOOTSTRAP_DIGEST: sha256_of(rootfs)}
    write_archive(rootfs, archive, architecture=architecture, created=base.timestamp, labels=labels, tag=tag)
    with heartbeat(on_progress, "base: loading it into the engine"), archive.open("rb") as stream:
        client.images.load(stream)


def _mmdebstrap(base: BootstrapBase, rootfs: Path, *, architecture: str) -> None:
    """Bit-identical when run twice on the same packages: facts are in docs/, the clamp is the epoch."""
    program = shutil.which("mmdebstrap")
    if program is None:
        raise ImageError(
            "no registry, and mmdebstrap, which makes a base without one, is not installed",
            fix="sudo apt-get install mmdebstrap debian-archive-keyring, or use --backend local",
        )
    command = [
        program, "--variant=minbase", "--format=tar", f"--architectures={architecture}",
        f"--include={','.join(sorted(base.packages))}", base.suite, str(rootfs),
    ]  # fmt: skip
    ended = run_command(
        command, environment={**os.environ, "SOURCE_DATE_EPOCH": str(base.epoch), "LC_ALL": "C.UTF-8"}
    )
    if ended.exit_code:
        raise ImageError(
            f"mmdebstrap ended with exit code {ended.exit_code}",
            where=" ".join(command),
            actual=ended.last_lines,
            fix="check that this host reaches its package mirror, or use --backend local",
        )


def _short(error: object) -> str:
    return str(error).strip().splitlines()[-1][-200:] if str(error).strip() else type(error).__name__
