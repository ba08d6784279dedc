"""A folder with everything that an image is built from, for a machine without a network.

``MANIFEST.json`` has format, variant, machine, and the SHA-256 of every other file; ``images/`` the
Dockerfile, ``lock.toml`` and the locks; ``wheels/`` the packages; ``debs/`` the packages of the base.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reprokit.errors import ImageError, UsageError
from reprokit.images import wheels
from reprokit.images.building import bootstrap, debian_packages
from reprokit.images.building.architecture import architecture
from reprokit.images.cache import Progress
from reprokit.images.locks import Lock, Variant
from reprokit.images.packages import Target, digest_of
from reprokit.layout import MANIFEST
from reprokit.project import project_folder
from reprokit.workspace import cannot_write, sha256_of, write_json

_FORMAT = 1


def fill(
    lock: Lock, variant: Variant, folder: Path, *, machine: str, cache: Path, on_progress: Progress
) -> Path:
    """Collect everything for a machine into a new or empty folder; returns its manifest, written last.

    Raises:
        UsageError: The folder is not empty.
        ImageError: Something cannot be fetched.
        WorkspaceError: The folder cannot be written.
    """
    if folder.exists() and any(folder.iterdir()):
        raise UsageError("the folder is not empty", where=str(folder), fix="name a new one")
    lock = lock.based_for(variant)
    pinned = debian_packages.read_base_lock(lock.base_packages(machine))
    target = Target(machine=machine, python=variant.python)
    from_wheels = wheels.fetch(variant, target, cache=cache, on_progress=on_progress)
    packages = debian_packages.fetch(
        pinned,
        sources=lambda: bootstrap.sources(lock.bootstrap),
        architecture=architecture(machine),
        cache=cache,
        on_progress=on_progress,
    )
    on_progress(f"vendor: copying {len(pinned)} packages of the base and the wheels")
    try:
        shutil.copytree(from_wheels, folder / "wheels")
        (folder / "debs").mkdir()
        for deb in pinned:
            shutil.copyfile(packages / deb.file_name, folder / "debs" / deb.file_name)
        for path in _locks(lock, variant, machine):
            copy = folder / "images" / path.relative_to(project_folder(lock.root, "images"))
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
        files = {name: sha256_of(folder / name) for name in _names(folder)}
    except OSError as error:
        raise cannot_write(folder, error) from error
    manifest = {"format": _FORMAT, "variant": variant.name, "machine": machine, "files": files}
    write_json(folder / MANIFEST, manifest)
    return folder / MANIFEST


def take(lock: Lock, variant: Variant, folder: Path, *, machine: str, cache: Path) -> None:
    """Put what a folder holds into the cache, so that nothing of it needs to be fetched.

    Raises:
        UsageError: The folder is for another variant, machine or lock.
        ImageError: A file of it is missing or differs from the manifest.
    """
    lock = lock.based_for(variant)
    _check(folder, variant, machine)
    for path in _locks(lock, variant, machine):
        kept = folder / "images" / path.relative_to(project_folder(lock.root, "images"))
        if not kept.is_file() or digest_of(kept) != digest_of(path):
            raise UsageError(
                f"the folder was filled from a different {path.name}",
                where=str(folder),
                expected=digest_of(path),
                actual=digest_of(kept) if kept.is_file() else "none",
                fix="fill a folder from this checkout: reprokit image vendor",
            )
    target = Target(machine=machine, python=variant.python)
    wheels.keep(folder / "wheels", variant, target, cache=cache)
    debian_packages.keep((folder / "debs").iterdir(), cache=cache)


def _check(folder: Path, variant: Variant, machine: str) -> None:
    manifest = _manifest(folder)
    wanted = {"format": _FORMAT, "variant": variant.name, "machine": machine}
    found = {key: manifest.get(key) for key in wanted}
    if found != wanted:
        what = "the folder is for a different environment"
        raise UsageError(what, where=str(folder), expected=str(wanted), actual=str(found))
    files = dict(manifest.get("files") or {})
    for name in sorted(files.keys() | set(_names(folder))):
        path = folder / name
        actual = sha256_of(path) if path.is_file() else "no such file"
        if files.get(name) != actual:
            raise ImageError(
                "a vendored file differs from the manifest",
                where=str(path),
                expected=str(files.get(name, "no such file")),
                actual=actual,
                fix="fill the folder again",
            )


def _manifest(folder: Path) -> dict[str, Any]:
    try:
        found = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(
            "not a vendored folder",
            where=str(folder),
            expected=f"{MANIFEST} in it",
            actual=str(error),
            fix="fill one on a machine with a network: reprokit image vendor cpu FOLDER",
        ) from error
    return found if isinstance(found, dict) else {}


def environment_files(lock: Lock, variant: Variant) -> dict[str, Path]:
    """What a variant's environment is declared by: name below the folder of environments → file.

    Its declaration, its package lock, the Dockerfile, the locks of its base, and wheels that no index has.
    """
    based, above = lock.based_for(variant), project_folder(lock.root, "images")
    paths = {path for machine in variant.machines for path in _locks(based, variant, machine)}
    paths |= set(variant.local_wheels.glob("*.whl"))
    if variant.fallback is not None:
        paths |= set(environment_files(lock, lock.variant(variant.fallback)).values())
    return {path.relative_to(above).as_posix(): path for path in sorted(paths) if path.is_file()}


def _locks(lock: Lock, variant: Variant, machine: str) -> tuple[Path, ...]:
    return (lock.path, lock.dockerfile, variant.packages_path, lock.base_packages(machine))


def _names(folder: Path) -> Iterator[str]:
    for place, folders, files in os.walk(folder):
        folders.sort()
        for name in sorted(files):
            relative = (Path(place) / name).relative_to(folder).as_posix()
            if relative != MANIFEST:
                yield relative
