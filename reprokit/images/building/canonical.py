"""The canonical form of a built image: the same inputs give the same image ID.

A builder leaves the date, the order of its work and container names in what it makes. Here the base's
layers stay byte for byte; everything above becomes one layer, or one for each large package and one for the
rest, sorted by name, with no time later than the lock's date and no names of owners.

    >>> with layers.opened(archive) as image:
    ...     canonical(image, form).id
    'sha256:8f0d…'
"""

from __future__ import annotations

import dataclasses
import hashlib
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from reprokit.core.records import canonical_json, digest_bytes
from reprokit.errors import ImageError
from reprokit.images.building.layers import DIRECTORY, FILE, HARD_LINK, REMOVED, SYMLINK, File, SavedImage
from reprokit.images.building.package_layers import LayerPart, divided

#: Forms of an image: equal files become other bytes in another form. An environment says which one it has.
ONE_LAYER, PACKAGE_LAYERS = 1, 2
_BLOCK = tarfile.BLOCKSIZE
_KEPT = ("Env", "Cmd", "Entrypoint", "User", "WorkingDir", "ExposedPorts", "Volumes", "StopSignal")
# Empty files that a builder makes to mount its own over, where the base has none (Podman: /etc/hosts).
_MOUNTED = frozenset({"etc/hosts", "etc/hostname", "etc/resolv.conf", "run/.containerenv", ".dockerenv"})
_TYPES = {
    FILE: tarfile.REGTYPE,
    DIRECTORY: tarfile.DIRTYPE,
    SYMLINK: tarfile.SYMTYPE,
    HARD_LINK: tarfile.LNKTYPE,
    REMOVED: tarfile.REGTYPE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """Everything of an image that is not in its files."""

    base_layers: tuple[str, ...]  # digests of the base's layers
    num_base_steps: int  # how many entries of its history are that image's
    epoch: int  # the latest time that a file may have, in seconds since 1970
    created: str  # the date that the image claims, `2026-10-01T00:00:00Z`
    labels: Mapping[str, str]  # all of its labels
    tag: str  # the name it gets when it is loaded
    made_by: str  # what its history says about the layer
    version: int = ONE_LAYER  # `ONE_LAYER` or `PACKAGE_LAYERS`


@dataclass(frozen=True, slots=True, kw_only=True)
class CanonicalImage:
    """A built image in canonical form."""

    id: str  # its ID in engines with a classic image store: the digest of `configuration`
    files: tuple[File, ...]  # the files above the base, sorted, with their final times
    parts: tuple[LayerPart, ...]  # the same files by layer, the lowest first
    configuration: bytes
    image: SavedImage  # what it was made from
    num_base_layers: int  # how many layers of it are the base's
    tag: str

    def archive(self) -> Iterator[bytes]:
        """The image as ``docker load`` takes it, block by block; nothing is written to disk."""
        names = [f"{number}.tar" for number in range(self.num_base_layers + len(self.parts))]
        for number, name in enumerate(names[: self.num_base_layers]):
            size = self.image.layers[number][1]
            yield from _member(name, size, self.image.layer_bytes(number))
        for name, part in zip(names[self.num_base_layers :], self.parts, strict=True):
            yield from _member(name, _layer_size(part.files), _layer(self.image, part.files))
        config = f"{self.id.removeprefix('sha256:')}.json"
        manifest = canonical_json([{"Config": config, "Layers": names, "RepoTags": [self.tag]}]).encode()
        yield from _member(config, len(self.configuration), iter([self.configuration]))
        yield from _member("manifest.json", len(manifest), iter([manifest]))
        yield b"\0" * (2 * _BLOCK)


def canonical(image: SavedImage, form: Form) -> CanonicalImage:
    """The canonical form of a built image.

    Raises:
        ImageError: The image is not built on that base.
    """
    below = form.base_layers
    if tuple(image.configuration["rootfs"]["diff_ids"])[: len(below)] != below:
        raise ImageError("the built image is not based on the requested base", where=form.tag)
    files = tuple(
        dataclasses.replace(one, mtime=min(one.mtime, form.epoch))
        for one in image.added(after=len(below), without_empty=_MOUNTED)
    )
    parts = divided(image, files) if form.version == PACKAGE_LAYERS else (LayerPart(package="", files=files),)
    configuration = canonical_json(_configuration(image, form, parts)).encode()
    return CanonicalImage(
        id=digest_bytes(configuration),
        files=files,
        parts=parts,
        configuration=configuration,
        image=image,
        num_base_layers=len(below),
        tag=form.tag,
    )


def _configuration(image: SavedImage, form: Form, parts: tuple[LayerPart, ...]) -> dict[str, Any]:
    built = image.configuration
    config = built.get("config") or {}
    return {
        "architecture": built["architecture"],
        "os": built["os"],
        "created": form.created,
        "config": {**{key: config[key] for key in _KEPT if config.get(key)}, "Labels": dict(form.labels)},
        "rootfs": {
            "type": "layers",
            "diff_ids": [*form.base_layers, *(_digest(image, part) for part in parts)],
        },
        "history": [
            *(built.get("history") or ())[: form.num_base_steps],
            *({"created": form.created, "created_by": _step(form, part)} for part in parts),
        ],
    }


def _step(form: Form, part: LayerPart) -> str:
    return f"{form.made_by}: {part.package}" if part.package else form.made_by


def _digest(image: SavedImage, part: LayerPart) -> str:
    layer = hashlib.sha256()
    for block in _layer(image, part.files):
        layer.update(block)
    return f"sha256:{layer.hexdigest()}"


def _layer(image: SavedImage, files: tuple[File, ...]) -> Iterator[bytes]:
    for file in files:
        yield _header(file)
        if file.size_bytes:
            yield from image.content(file)
            yield b"\0" * (-file.size_bytes % _BLOCK)
    yield b"\0" * (2 * _BLOCK)


def _layer_size(files: tuple[File, ...]) -> int:
    return (
        sum(len(_header(file)) + file.size_bytes + -file.size_bytes % _BLOCK for file in files) + 2 * _BLOCK
    )


def _header(one: File) -> bytes:
    member = tarfile.TarInfo(_whiteout(one.name) if one.kind == REMOVED else one.name)
    member.type = _TYPES[one.kind]
    member.mode, member.uid, member.gid = one.mode, one.uid, one.gid
    member.mtime, member.size, member.linkname = one.mtime, one.size_bytes, one.target
    member.pax_headers = dict(one.attributes)
    return member.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape")


def _whiteout(name: str) -> str:
    folder, _, last = name.rpartition("/")
    prefix = f"{folder}/" if folder else ""
    return f"{prefix}.wh.{last}" if last else f"{prefix}.wh..wh..opq"


def _member(name: str, size: int, blocks: Iterator[bytes]) -> Iterator[bytes]:
    member = tarfile.TarInfo(name)
    member.size = size
    yield member.tobuf(tarfile.PAX_FORMAT)
    yield from blocks
    yield b"\0" * (-size % _BLOCK)
