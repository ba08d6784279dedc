"""An image's bill of materials and provenance: written when it is built, kept in the cache under its ID.

>>> sorted(files_of("sha256:8f0d…", cache=cache))
['image-provenance.json', 'sbom.cdx.json']
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from docker import DockerClient
from packaging.utils import parse_wheel_filename

from reprokit.core.records import digest_bytes
from reprokit.errors import ImageError
from reprokit.images import wheels
from reprokit.images.building import build_record, debian_packages, image_store
from reprokit.images.cache import Progress, appearing, held, mark_used
from reprokit.images.checking import provenance, sbom
from reprokit.images.checking.image_contents import Contents, look_inside
from reprokit.images.locks import Lock, Variant
from reprokit.images.packages import Target, digest_of, packages_for, read_packages
from reprokit.layout import IMAGE_PROVENANCE, SBOM
from reprokit.workspace import sha256_of


def attest(
    client: DockerClient,
    lock: Lock,
    variant: Variant,
    image: image_store.StoredImage,
    *,
    machine: str,
    cache: Path,
    on_progress: Progress,
) -> Path | None:
    """Write both documents of an image, where they are missing, and return their folder.

    None for an image that this host has not built, or whose wheels are no longer in the cache: what is not
    known is not attested.

    Raises:
        ImageError: The packages in the image differ from its lock.
    """
    if not build_record.was_built(image.id, content=image.labels[image_store.CONTENT], cache=cache):
        return None
    final = folder_of(image.id, cache=cache)
    if final.is_dir():
        mark_used(final)
        return final
    target = Target(machine=machine, python=variant.python)
    from_wheels = wheels.folder_of(variant, target, cache=cache)
    if not from_wheels.is_dir():
        return None
    with held(cache, f"attest-{final.name}", on_progress=on_progress):
        if not final.is_dir():
            on_progress(f"image of {variant.name}: listing what is in it")
            contents = look_inside(client, image.id, python=image_store.PYTHON)
            _check_as_locked(contents, variant, target)
            documents = _documents(lock, variant, image, target, contents, _digests(from_wheels))
            with appearing(final) as partial:
                for name, content in documents.items():
                    (partial / name).write_bytes(content)
    return final


def folder_of(image_id: str, *, cache: Path) -> Path:
    """Where an image's documents lie, if there are any."""
    return cache / "attestations" / image_id.removeprefix("sha256:")


def read(image_id: str, *, variant: str, cache: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """What is in an image, and what it was made from: its ``sbom.cdx.json`` and ``image-provenance.json``.

    Raises:
        ImageError: The image was made elsewhere.
    """
    files = files_of(image_id, cache=cache)
    if not files:
        raise ImageError(
            "this image was built on another machine, so its documents are not here",
            where=image_id,
            fix=f"build it here: docker image rm {image_id}, then reprokit image build {variant}",
        )
    return json.loads(files[SBOM]), json.loads(files[IMAGE_PROVENANCE])


def files_of(image_id: str, *, cache: Path) -> dict[str, bytes]:
    """Both documents of an image that this host has built: name → content; empty where there are none."""
    if not build_record.was_built(image_id, cache=cache):
        return {}
    folder = folder_of(image_id, cache=cache)
    paths = (folder / IMAGE_PROVENANCE, folder / SBOM)
    return {path.name: path.read_bytes() for path in paths if path.is_file()}


def _check_as_locked(contents: Contents, variant: Variant, target: Target) -> None:
    """Raise `ImageError` where the packages in an image differ from its lock."""
    wanted = {package.pin for package in packages_for(read_packages(variant.packages_path), target)}
    found = {f"{one.name}=={one.version}" for one in contents.python.values()}
    if wanted != found:
        raise ImageError(
            "the packages in the image differ from its lock",
            where=str(variant.packages_path),
            expected=", ".join(sorted(wanted - found)) or "nothing more",
            actual=", ".join(sorted(found - wanted)) or "not there",
            fix="remove the image (docker image rm) and build it again: reprokit image build",
        )


def _digests(from_wheels: Path) -> dict[str, tuple[str, str]]:
    """Normalised package → its pin and the digest of its wheel."""
    found = {}
    for path in sorted(from_wheels.glob("*.whl")):
        name, version, _, _ = parse_wheel_filename(path.name)
        found[str(name)] = (f"{name}=={version}", sha256_of(path))
    return found


def _documents(
    lock: Lock,
    variant: Variant,
    image: image_store.StoredImage,
    target: Target,
    contents: Contents,
    wheels_by_name: Mapping[str, tuple[str, str]],
) -> dict[str, bytes]:
    content = image.labels[image_store.CONTENT]
    subject = sbom.ImageSubject(
        name=f"reprokit/{variant.name}",
        version=content.removeprefix("sha256:")[:16],
        id=image.id,
        content=content,
        created=lock.bootstrap.date,
    )
    digests = {name: digest for name, (_, digest) in wheels_by_name.items()}
    base = lock.base_packages(target.machine)
    known = debian_packages.read_base_lock(base) if base.is_file() else ()
    of_debs = {f"{one.name}={one.version}:{one.architecture}": one.digest for one in known}
    bill = _bytes(sbom.bill(subject, contents, wheels=digests, debs=of_debs))
    build = provenance.BuildInputs(
        variant=variant.name,
        machine=target.machine,
        python=target.python,
        base=image.labels[image_store.BASE],
        epoch=lock.bootstrap.epoch,
        files={
            path.relative_to(lock.root).as_posix(): digest_of(path)
            for path in (lock.dockerfile, variant.packages_path, *([base] if known else ()))
        },
        wheels=dict(wheels_by_name.values()),
        bill=digest_bytes(bill),
    )
    return {SBOM: bill, IMAGE_PROVENANCE: _bytes(provenance.statement(subject, build))}


def _bytes(document: Mapping[str, Any]) -> bytes:
    return (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode("utf-8")
