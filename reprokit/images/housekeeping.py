"""What the caches and the engine hold of environments, and removing what was not used for a long time.

Several projects share one cache: what this project uses today stays, and what any of them used lately.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from docker import DockerClient

from reprokit.errors import EngineError, ImageError
from reprokit.images import venvs, wheels
from reprokit.images.building import bases, build, image_store
from reprokit.images.cache import held
from reprokit.images.checking import image_documents
from reprokit.images.installed_files import MARKER, list_of
from reprokit.images.locks import Lock, read_lock
from reprokit.images.packages import Target, digest_of

_DAY_S = 86_400
_PARTS = ("wheels", "venvs", "debs")


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """One thing that takes room: its kind, where it is, and whether this project uses it today."""

    kind: str  # `image`, `base`, `venv` or `wheels`
    reference: str  # an image's ID, or a folder
    size_bytes: int  # of an image: with its base, whose layers several may share
    last_used: float  # seconds since 1970; 0 where no one knows
    current: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovalPlan:
    """What goes, and what stays with the reason."""

    going: tuple[Held, ...]
    kept: tuple[tuple[Held, str], ...]


def sizes(cache: Path) -> dict[str, int]:
    """Bytes on disk of each part of the cache, and of the engine's images (each with its base)."""
    found = {part: size_of(cache / part) for part in _PARTS}
    try:
        with image_store.connected(timeout_s=5) as client:
            listed = image_store.images_with(client, image_store.CONTENT)
    except (EngineError, ImageError):
        return found
    return {**found, "images": sum(one.size_bytes for one in listed)}


def plan(project: Path | None, *, older_than_days: float, cache: Path, now: float) -> RemovalPlan:
    """What `prune` would remove: not in use by this project, and last used that many days ago or more.

    Raises:
        ImageError: The project's environments cannot be read.
    """
    going, kept = list[Held](), list[tuple[Held, str]]()
    for one in _all_held(None if project is None else read_lock(project), cache):
        if one.current:
            kept.append((one, "this project uses it"))
        elif now - one.last_used < older_than_days * _DAY_S:
            kept.append((one, f"used in the last {older_than_days:g} days"))
        else:
            going.append(one)
    return RemovalPlan(going=tuple(going), kept=tuple(kept))


def prune(project: Path | None, *, older_than_days: float, cache: Path, now: float) -> RemovalPlan:
    """Remove what `plan` says; what cannot be removed, such as an image with a container, is kept.

    Raises:
        ImageError: The project's environments cannot be read.
    """
    planned = plan(project, older_than_days=older_than_days, cache=cache, now=now)
    refused = [(one, why) for one in planned.going if (why := remove(one, cache))]
    going = tuple(one for one in planned.going if one not in [held for held, _ in refused])
    return RemovalPlan(going=going, kept=(*planned.kept, *refused))


def _all_held(lock: Lock | None, cache: Path) -> Iterator[Held]:
    try:
        with image_store.connected() as client:
            yield from _images(client, lock, cache)
    except EngineError:
        pass  # no engine, no images
    variants = tuple(lock.variants.values()) if lock else ()
    locked = {
        (variant.name, digest_of(variant.packages_path))
        for variant in variants
        if variant.packages_path.is_file()
    }
    made = {Path(str(facts["path"])): facts for facts in venvs.made(cache)}
    for folder in sorted(path for path in (cache / "venvs").glob("*") if path.is_dir()):
        facts = made.get(folder, {})
        current = (facts.get("variant"), facts.get("lock_digest")) in locked
        yield _folder("venv", folder, used=folder / MARKER, current=current)
    needed = {
        wheels.folder_of(variant, Target(machine=machine, python=variant.python), cache=cache)
        for variant in variants
        if variant.packages_path.is_file()
        for machine in variant.machines
    }
    for folder in sorted((cache / "wheels").glob("[!.]*")):
        yield _folder("wheels", folder, used=folder, current=folder in needed)


def _images(client: DockerClient, lock: Lock | None, cache: Path) -> Iterator[Held]:
    machine, contents, identities = image_store.machine(client), set[str](), set[str]()
    for variant in lock.variants.values() if lock else ():
        for kind in bases.allowed_kinds(bases.AUTO) if variant.packages_path.is_file() else ():
            base = bases.identity(lock.based_for(variant), kind=kind, machine=machine) if lock else ""
            identities.add(base)
            contents.add(build.content_of(lock, variant, machine=machine, base_identity=base) if lock else "")
    for label, kind, current in (
        (image_store.CONTENT, "image", contents),
        (image_store.BOOTSTRAP, "base", identities),
    ):
        for image in image_store.images_with(client, label):
            if not _is_made_here(image, label):
                continue
            documents = image_documents.folder_of(image.id, cache=cache)
            tagged = client.images.get(image.id).attrs.get("Metadata", {}).get("LastTagTime", "")
            yield Held(
                kind=kind,
                reference=image.id,
                size_bytes=image.size_bytes,
                last_used=max(_time_of(documents), _seconds(tagged)),
                current=image.labels[label] in current,
            )


def _is_made_here(image: image_store.StoredImage, label: str) -> bool:
    """Whether its only name is the one that this tool gives; what people build on top has the labels too."""
    content = image.labels[label].rpartition(":")[2][:16]
    name = "base" if label == image_store.BOOTSTRAP else image.labels.get(image_store.VARIANT)
    return image.tags == (f"reprokit/{name}:{content}",)


def _folder(kind: str, folder: Path, *, used: Path, current: bool) -> Held:
    return Held(
        kind=kind,
        reference=str(folder),
        size_bytes=size_of(folder),
        last_used=max(_time_of(used), _time_of(folder)),
        current=current,
    )


def remove(one: Held, cache: Path) -> str:
    """Why it cannot be removed; empty where it is gone."""
    if one.kind in {"image", "base"}:
        try:
            with image_store.connected() as client:
                client.images.remove(one.reference)
        except (EngineError, ImageError) as error:
            return str(error)
        shutil.rmtree(image_documents.folder_of(one.reference, cache=cache), ignore_errors=True)
        return ""
    folder = Path(one.reference)
    with held(cache, f"{one.kind}-{folder.name}", on_progress=lambda _line: None):
        shutil.rmtree(folder, ignore_errors=True)
        list_of(folder).unlink(missing_ok=True)
    return "it cannot be removed" if folder.exists() else ""


def size_of(folder: Path) -> int:
    """Bytes on disk; a file with several names counts once."""
    seen, total = set[int](), 0
    for place, _folders, files in os.walk(folder):
        for name in files:
            try:
                stat = os.lstat(os.path.join(place, name))  # noqa: PTH118  (tens of thousands of files)
            except OSError:
                continue
            if stat.st_nlink == 1 or stat.st_ino not in seen:
                seen.add(stat.st_ino)
                total += stat.st_blocks * 512
    return total


def _seconds(moment: str) -> float:
    """Seconds since 1970 of a time as the engine writes it; 0 where it says none."""
    try:
        return datetime.fromisoformat(moment).timestamp()
    except ValueError:
        return 0.0


def _time_of(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
