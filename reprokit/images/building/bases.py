"""The base of an image: a registry's image, pinned by digest, or one built from distribution packages."""

from __future__ import annotations

import functools
import platform
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

from docker import DockerClient

from reprokit.core.records import digest
from reprokit.docker_sdk import SDK_ERRORS
from reprokit.errors import EngineError, ImageError, UsageError
from reprokit.images.building import bootstrap, build_record, image_store
from reprokit.images.building.architecture import architecture
from reprokit.images.building.archive import write_archive
from reprokit.images.building.suites import PYTHON_OF_SUITE, USUAL_SUITE, python_of
from reprokit.images.cache import Progress, held
from reprokit.images.locks import Lock, RegistryBase, Variant
from reprokit.images.packages import digest_of
from reprokit.images.subprocesses import heartbeat
from reprokit.workspace import cannot_write, sha256_of

REGISTRY = "registry"
BOOTSTRAP = "bootstrap"
AUTO = "auto"
_PROBE_S = 3
_RECIPE_VERSION = 3  # of how a base is bootstrapped; raise it when `bootstrap` changes what comes out


class NoBaseError(ImageError):
    """No base has what an environment asks for: its Python, its packages of the distribution."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """An image to build on."""

    id: str  # its ID in the engine
    reference: str  # a name of it that every builder takes, with tag or digest
    name: str  # `name:tag` of a registry's image, or `bootstrap`
    digest: str  # `sha256:…` of a registry's image, or of the root file system
    title: str  # both, for people and records: `name:tag@sha256:…` or `bootstrap:sha256:…`


def allowed_kinds(wanted: str) -> tuple[str, ...]:
    """The kinds that ``auto``, ``registry`` or ``bootstrap`` allows, the preferred one first."""
    kinds = {AUTO: (REGISTRY, BOOTSTRAP), REGISTRY: (REGISTRY,), BOOTSTRAP: (BOOTSTRAP,)}
    if wanted not in kinds:
        raise UsageError("unknown base", expected=" or ".join(kinds), actual=repr(wanted))
    return kinds[wanted]


def fitting_kinds(lock: Lock, variant: Variant, *, wanted: str) -> tuple[str, ...]:
    """Those of the allowed kinds that have what a variant asks for: its Python, its packages.

    Raises:
        NoBaseError: None of them has.
        UsageError: There is no such kind.
    """
    kinds = allowed_kinds(wanted)
    faults = {kind: fault for kind in kinds if (fault := _misfit(lock, variant, kind=kind)) is not None}
    if len(faults) == len(kinds):
        raise faults[kinds[-1]]
    return tuple(kind for kind in kinds if kind not in faults)


def _misfit(lock: Lock, variant: Variant, *, kind: str) -> NoBaseError | None:
    named = re.match(r"3\.\d+", lock.registry.tag)
    base = lock.bootstrap
    python = python_of(base.suite, base.packages) if kind == BOOTSTRAP else named and named[0]
    where = str(variant.declared_in)
    if python and python != variant.python:
        return NoBaseError(
            "the base of the image and the environment have different Pythons",
            where=where,
            expected=variant.python,
            actual=python,
            fix="name an image that has it (reprokit image lock "
            f"{variant.name} --base-image IMAGE:TAG@DIGEST, with --image-from registry), or --backend local",
        )
    if kind == BOOTSTRAP and _is_unpinned(lock, variant):
        return NoBaseError(
            f"nothing pins the packages of its base, {lock.bootstrap.suite}",
            where=where,
            fix=f"reprokit image lock {variant.name}, on a host that has mmdebstrap and an archive of Debian",
        )
    if kind == REGISTRY and variant.own is not None and variant.system_packages:
        return NoBaseError(
            "a registry's base has none of the distribution packages of the environment",
            where=where,
            actual=", ".join(variant.system_packages),
            fix="build on distribution packages: --image-from bootstrap",
        )
    return None


def _is_unpinned(lock: Lock, variant: Variant) -> bool:
    """Whether nothing says what a base of another release than the usual one is made of."""
    known = PYTHON_OF_SUITE.keys() - {USUAL_SUITE}
    if variant.own is None or lock.bootstrap.suite not in known:
        return False
    based = lock.based_for(variant)
    return not any(based.base_packages(machine).is_file() for machine in variant.machines)


def identity(lock: Lock, *, kind: str, machine: str) -> str:
    """What goes into the digest of everything built on this base: known without building it."""
    if kind == REGISTRY:
        return lock.registry.reference
    definition = lock.bootstrap
    content = {
        "recipe_version": _RECIPE_VERSION,
        "suite": definition.suite,
        "packages": sorted(definition.packages),
        "epoch": definition.epoch,
        "machine": machine,
        "lock": digest_of(lock.base_packages(machine)) if lock.base_packages(machine).is_file() else "",
    }
    return f"bootstrap:{digest(content)}"


def choose(client: DockerClient, lock: Lock, variant: Variant, *, wanted: str, on_progress: Progress) -> str:
    """Choose a kind; for ``auto`` the engine is asked whether it reaches the registry, for 3 s at most.

    Raises:
        ImageError: No kind has what the variant asks for.
    """
    kinds = fitting_kinds(lock, variant, wanted=wanted)
    if len(kinds) == 1 or image_store.find_reference(client, lock.registry.reference):
        return kinds[0]
    try:
        with image_store.connected(timeout_s=_PROBE_S) as impatient:
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
    """Find the base in the engine, or pull it, or build it."""
    if kind == REGISTRY:
        return _from_registry(client, lock.registry, on_progress=on_progress)
    with held(cache, f"base-{machine}", on_progress=on_progress):
        wanted = identity(lock, kind=BOOTSTRAP, machine=machine)
        tag = f"reprokit/base:{wanted.rsplit(':', 1)[1][:16]}"
        is_known = functools.partial(build_record.was_built, content=wanted, cache=cache)
        found = image_store.find_known(client, image_store.BOOTSTRAP, wanted, is_known=is_known)
        if found is None:
            _bootstrap(client, lock, wanted, tag, machine, cache, on_progress)
            found = image_store.find_known(client, image_store.BOOTSTRAP, wanted, is_known=is_known)
    if found is None:
        raise ImageError("the engine loaded the base image but does not list it", where=tag)
    if tag not in found.tags:  # BuildKit takes the name, and another image has it
        repository, _, version = tag.partition(":")
        client.api.tag(found.id, repository, version)
    rootfs = found.labels[image_store.BOOTSTRAP_DIGEST]
    return Base(id=found.id, reference=tag, name=BOOTSTRAP, digest=rootfs, title=f"{BOOTSTRAP}:{rootfs}")


def _from_registry(client: DockerClient, base: RegistryBase, *, on_progress: Progress) -> Base:
    found = image_store.find_reference(client, base.reference)
    if found is None:
        try:
            with heartbeat(on_progress, f"base: pulling {base.title}"):
                client.images.pull(base.reference)
        except SDK_ERRORS as error:
            raise ImageError(
                "the base image cannot be pulled",
                where=base.reference,
                actual=_short(error),
                fix="check the engine's network, or build on distribution packages: --image-from bootstrap",
            ) from error
        found = image_store.find_reference(client, base.reference)
    if found is None:
        raise ImageError("the engine pulled the base image but does not list it", where=base.reference)
    name = f"{base.image}:{base.tag}"
    return Base(id=found, reference=base.reference, name=name, digest=base.digest, title=base.title)


def _bootstrap(
    client: DockerClient,
    lock: Lock,
    wanted: str,
    tag: str,
    machine: str,
    cache: Path,
    on_progress: Progress,
) -> None:
    if machine != platform.machine():
        raise ImageError(
            "a base image for the engine's architecture cannot be built on this machine",
            expected=machine,
            actual=platform.machine(),
            fix="give the engine access to the registry: --image-from registry",
        )
    try:
        with tempfile.TemporaryDirectory(prefix="base-", dir=cache) as name:
            rootfs, archive = Path(name) / "rootfs.tar", Path(name) / "image.tar"
            bootstrap.make_rootfs(lock, rootfs, machine=machine, cache=cache, on_progress=on_progress)
            labels = {image_store.BOOTSTRAP: wanted, image_store.BOOTSTRAP_DIGEST: sha256_of(rootfs)}
            named, created = architecture(machine), lock.bootstrap.timestamp
            write_archive(rootfs, archive, architecture=named, created=created, labels=labels, tag=tag)
            with heartbeat(on_progress, "base: loading it into the engine"), archive.open("rb") as stream:
                loaded = client.images.load(stream)
    except OSError as error:
        raise cannot_write(cache, error) from error
    for image in loaded:
        build_record.note(str(image.id), content=wanted, cache=cache)


def _short(error: object) -> str:
    return str(error).strip().splitlines()[-1][-200:] if str(error).strip() else type(error).__name__
