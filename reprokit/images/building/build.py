"""Finds or builds the container image of a variant, from locked wheels and with no network."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from docker import DockerClient

from reprokit.core.records import Realisation, digest
from reprokit.errors import ImageError
from reprokit.images import wheels
from reprokit.images.building import bases, build_record, builders, image_store
from reprokit.images.building.build_steps import BuildConditions, Ingredients, made
from reprokit.images.cache import Progress, held
from reprokit.images.checking import image_documents
from reprokit.images.locks import Lock, Variant
from reprokit.images.packages import Target, digest_of
from reprokit.images.subprocesses import heartbeat


def realise(
    lock: Lock,
    variant: Variant,
    *,
    base: str,
    builder: str = builders.CLASSIC,
    cache: Path,
    on_progress: Progress,
) -> Realisation:
    """Find the image of a variant's content in the engine, or build it.

    An image is taken when this host has built it, or when the lock names its ID; never for its label.
    ``base`` is ``auto``, ``registry`` or ``bootstrap``; ``auto`` takes an existing image on either base
    before it asks whether the registry can be reached. ``classic`` and ``buildkit`` builders give the same.

    Raises:
        EngineError: No engine answers.
        ImageError: The base, the wheels or the build failed.
    """
    lock = lock.based_for(variant)
    with image_store.connected() as client:
        machine = image_store.machine(client)
        contents = {
            kind: content_of(lock, variant, machine=machine, base_identity=identity)
            for kind in bases.fitting_kinds(lock, variant, wanted=base)
            if (identity := bases.identity(lock, kind=kind, machine=machine))
        }
        found = _found(client, variant, contents.values(), cache)
        if found is None:
            with held(cache, f"image-{variant.name}-{machine}", on_progress=on_progress):
                found = _found(client, variant, contents.values(), cache)
                if found is None:
                    _name_unknown(client, variant, contents.values(), on_progress)
                    kind = bases.choose(client, lock, variant, wanted=base, on_progress=on_progress)
                    _build(client, lock, variant, kind, builder, cache, on_progress)
                    found = _found(client, variant, [contents[kind]], cache)
        if found is None:
            raise ImageError("the engine built the image but does not list it", where=variant.name)
        image_documents.attest(
            client, lock, variant, found, machine=machine, cache=cache, on_progress=on_progress
        )
    return Realisation(
        variant=variant.name,
        kind="image",
        reference=found.id,
        digest=found.id,
        python=image_store.PYTHON,
        lock_digest=found.labels[image_store.LOCK],
        base=found.labels[image_store.BASE],
        device_needs=device_needs(variant),
    )


def device_needs(variant: Variant) -> dict[str, Any]:
    """What a variant's accelerator needs of its host."""
    driver = {"minimum_driver": variant.minimum_driver} if variant.minimum_driver else {}
    return {**driver, **variant.relaxations}


def content_of(lock: Lock, variant: Variant, *, machine: str, base_identity: str) -> str:
    """Digest of everything that goes into a variant's image; equal content, same image."""
    lock = lock.based_for(variant)
    content = {
        "form": variant.form,
        "epoch": lock.bootstrap.epoch,
        "dockerfile": digest_of(lock.dockerfile),
        "lock": digest_of(variant.packages_path),
        "base": base_identity,
        "machine": machine,
        "python": variant.python,
        "variant": variant.name,
        "imports": list(variant.imports),
    }
    return digest(content)


def _tag(variant: Variant, content: str) -> str:
    return f"reprokit/{variant.name}:{content.removeprefix('sha256:')[:16]}"


def is_accepted(image_id: str, variant: Variant, *, content: str, cache: Path) -> bool:
    """Whether this host has built an image from that content, or the lock names its ID."""
    built = build_record.was_built(image_id, content=content, cache=cache)
    return built or image_id in variant.accepted_images


def _found(
    client: DockerClient, variant: Variant, contents: Iterable[str], cache: Path
) -> image_store.StoredImage | None:
    for content in contents:
        is_known = functools.partial(is_accepted, variant=variant, content=content, cache=cache)
        found = image_store.find_known(client, image_store.CONTENT, content, is_known=is_known)
        if found is not None:
            return found
    return None


def _name_unknown(
    client: DockerClient, variant: Variant, contents: Iterable[str], on_progress: Progress
) -> None:
    """Say why an image that looks right is built all the same."""
    for content in contents:
        there = image_store.find(client, image_store.CONTENT, content, tag=_tag(variant, content))
        if there is not None:
            on_progress(
                f"image of {variant.name}: one with its label is there ({there.id}), but this host has no "
                "record of having built it for you, so it is built again"
            )


def ingredients_of(
    client: DockerClient,
    lock: Lock,
    variant: Variant,
    *,
    kind: str,
    cache: Path,
    on_progress: Progress,
) -> Ingredients:
    """Fetch the wheels, and find or build the base."""
    lock, machine = lock.based_for(variant), image_store.machine(client)
    target = Target(machine=machine, python=variant.python)
    identity = bases.identity(lock, kind=kind, machine=machine)
    content = content_of(lock, variant, machine=machine, base_identity=identity)
    return Ingredients(
        lock=lock,
        variant=variant,
        wheels=wheels.fetch(variant, target, cache=cache, on_progress=on_progress),
        base=bases.obtain(client, lock, kind=kind, machine=machine, cache=cache, on_progress=on_progress),
        content=content,
        tag=_tag(variant, content),
    )


def _build(
    client: DockerClient,
    lock: Lock,
    variant: Variant,
    kind: str,
    builder: str,
    cache: Path,
    on_progress: Progress,
) -> None:
    ingredients = ingredients_of(client, lock, variant, kind=kind, cache=cache, on_progress=on_progress)
    conditions = BuildConditions(builder=builder)
    with made(client, ingredients, conditions=conditions, cache=cache, on_progress=on_progress) as image:
        with heartbeat(on_progress, f"image of {variant.name}: loading it into the engine"):
            loaded = client.images.load(image.archive())  # type: ignore[arg-type]  # any iterable of bytes
        if [one.id for one in loaded] != [image.id]:
            raise ImageError(
                "the engine's ID of the image differs from the digest of its configuration",
                expected=image.id,
                actual=", ".join(str(one.id) for one in loaded),
                fix="use an engine that stores images classically (docker info: no containerd snapshotter)",
            )
    build_record.note(image.id, content=ingredients.content, cache=cache)
