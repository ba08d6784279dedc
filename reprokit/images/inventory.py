"""Lists the environments in the engine and in the cache, and which of them the project would use today."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from reprokit.errors import EngineError
from reprokit.images import cache, venvs
from reprokit.images.building import bases, build, image_store
from reprokit.images.locks import Lock, read_lock
from reprokit.images.packages import digest_of


@dataclass(frozen=True, slots=True, kw_only=True)
class InventoryRow:
    """One environment that is there."""

    variant: str
    kind: str  # `image` or `venv`
    reference: str  # image ID or folder
    lock_digest: str  # digest of the package lock that it was made from
    base: str | None  # the image's base; None for a virtual environment
    size_bytes: int | None  # size of the image with its base; None for a virtual environment
    current: bool  # whether the project would use it today


def inventory(project: Path, *, cache_dir: Path | None) -> tuple[InventoryRow, ...]:
    """Every environment that the engine and the cache hold; images first. No engine, no images.

    Raises:
        ImageError: ``images/lock.toml`` is missing or wrong.
    """
    lock = read_lock(project)
    try:
        images = tuple(_images(lock, cache.cache_folder(cache_dir)))
    except EngineError:
        images = ()
    return (*images, *_environments(lock, cache.cache_folder(cache_dir)))


def _images(lock: Lock, folder: Path) -> Iterator[InventoryRow]:
    with image_store.connected() as client:
        machine = image_store.machine(client)
        variants = {}
        for variant in lock.variants.values():
            for kind in bases.allowed_kinds(bases.AUTO):
                base = bases.identity(lock.based_for(variant), kind=kind, machine=machine)
                content = build.content_of(lock, variant, machine=machine, base_identity=base)
                variants[content] = variant
        for image in image_store.images_with(client, image_store.CONTENT):
            content = image.labels[image_store.CONTENT]
            of = variants.get(content)
            yield InventoryRow(
                variant=image.labels.get(image_store.VARIANT, ""),
                kind="image",
                reference=image.id,
                lock_digest=image.labels.get(image_store.LOCK, ""),
                base=image.labels.get(image_store.BASE),
                size_bytes=image.size_bytes,
                current=of is not None and build.is_accepted(image.id, of, content=content, cache=folder),
            )


def _environments(lock: Lock, folder: Path) -> Iterator[InventoryRow]:
    digests = {name: digest_of(variant.packages_path) for name, variant in lock.variants.items()}
    for facts in venvs.made(folder):
        variant, lock_digest = str(facts.get("variant")), str(facts.get("lock_digest"))
        yield InventoryRow(
            variant=variant,
            kind="venv",
            reference=str(facts["path"]),
            lock_digest=lock_digest,
            base=None,
            size_bytes=None,
            current=digests.get(variant) == lock_digest,
        )
