"""Reads the archive that ``docker save`` writes: an image's configuration, and the files of its layers.

>>> with opened(archive) as image:
...     [file.name for file in image.added(after=1)][:2]
['etc', 'etc/group']
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import posixpath
import tarfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from reprokit.errors import ImageError

FILE, DIRECTORY, SYMLINK, HARD_LINK = "file", "directory", "symbolic link", "hard link"
DEVICE, REMOVED = "device", "removed"
_WHITEOUT = ".wh."
_OPAQUE = ".wh..wh..opq"
_XATTR = "SCHILY.xattr."
_KINDS = {
    tarfile.REGTYPE: FILE,
    tarfile.AREGTYPE: FILE,
    tarfile.DIRTYPE: DIRECTORY,
    tarfile.SYMTYPE: SYMLINK,
    tarfile.LNKTYPE: HARD_LINK,
}
_BLOCK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """One name in an image."""

    name: str  # path without the leading slash
    kind: str  # `file`, `directory`, `symbolic link`, `hard link`, `device` or `removed`
    mode: int
    uid: int
    gid: int
    mtime: int  # seconds since 1970, whole
    target: str = ""  # what a link names; empty for others
    size_bytes: int = 0
    offset: int = 0  # where its content begins in the archive, in bytes
    layer: int = 0  # which layer it is from, counted from 0
    attributes: tuple[tuple[str, str], ...] = ()  # extended attributes, as the archive writes them


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedImage:
    """An open archive of one image."""

    configuration: Mapping[str, Any]  # its configuration, as the engine wrote it
    # Where each layer's own archive begins, and its size, in bytes; the lowest first
    layers: tuple[tuple[int, int], ...]
    stream: BinaryIO  # the archive; reading moves it

    def added(self, *, after: int, without_empty: Collection[str] = ()) -> tuple[File, ...]:
        """The files of all layers but the first ``after``, sorted by name; later layers cover earlier ones.

        Unchanged directories are listed only where something in them changed; of several hard links the
        first name is the file. Empty files named in ``without_empty`` are left out.

        Raises:
            ImageError: A device or a pipe is among them.
        """
        below = _covered(self._files(number) for number in range(after))
        above = _covered(self._files(number) for number in range(after, len(self.layers)))
        kept = [
            one
            for one in above.values()
            if not _is_as_before(one, below)
            and not (one.name in without_empty and one.kind == FILE and not one.size_bytes)
        ]
        if devices := [one.name for one in kept if one.kind == DEVICE]:
            raise ImageError(
                "a build step created something other than a file, folder or link", where=devices[0]
            )
        needed = {parent for one in kept for parent in _parents(one.name)}
        kept += [above.get(name) or below[name] for name in needed if name in above or name in below]
        return _linked(sorted({one.name: one for one in kept}.values(), key=lambda one: one.name))

    def content(self, file: File) -> Iterator[bytes]:
        """A file's bytes, in blocks of at most 1 MiB."""
        self.stream.seek(file.offset)
        left = file.size_bytes
        while left:
            block = self.stream.read(min(left, _BLOCK_BYTES))
            if not block:
                raise ImageError("the engine's archive of an image is truncated", where=file.name)
            left -= len(block)
            yield block

    def layer_bytes(self, number: int) -> Iterator[bytes]:
        """A layer's archive, byte for byte."""
        offset, size = self.layers[number]
        whole = File(name=f"layer {number}", kind=FILE, mode=0, uid=0, gid=0, mtime=0)
        yield from self.content(dataclasses.replace(whole, size_bytes=size, offset=offset))

    def made_by(self, number: int) -> str:
        """The build step that made a layer, from the image's history."""
        steps = [one for one in self.configuration.get("history") or () if not one.get("empty_layer")]
        return str(steps[number].get("created_by", "")) if number < len(steps) else ""

    def _files(self, number: int) -> Iterator[File]:
        offset, _size = self.layers[number]
        self.stream.seek(offset)
        with tarfile.open(fileobj=_From(self.stream, offset), mode="r:") as tar:  # type: ignore[call-overload]
            originals: dict[str, File] = {}
            for member in tar:
                one = _file(member, layer=number, base=offset)
                if one.kind == HARD_LINK and one.target in originals:
                    one = dataclasses.replace(originals[one.target], name=one.name)
                originals[one.name] = one
                yield one


@contextlib.contextmanager
def opened(archive: Path) -> Iterator[SavedImage]:
    """Open what ``docker save`` wrote of one image.

    Raises:
        ImageError: It is not such an archive.
    """
    with archive.open("rb") as stream:
        try:
            with tarfile.open(fileobj=stream, mode="r:") as outer:
                members = {member.name: member for member in outer}
                (entry,) = json.load(_must(outer.extractfile(members["manifest.json"])))
                configuration = json.load(_must(outer.extractfile(members[entry["Config"]])))
                layers = [_resolved(members, name) for name in entry["Layers"]]
        except (tarfile.TarError, KeyError, ValueError, TypeError) as error:
            raise ImageError(
                "the engine's archive of an image cannot be read", where=str(archive), actual=str(error)
            ) from error
        places = tuple((member.offset_data, member.size) for member in layers)
        yield SavedImage(configuration=configuration, layers=places, stream=stream)


class _From:
    """A stream seen from an offset on, for a reader that wants to begin at 0."""

    def __init__(self, stream: BinaryIO, offset: int) -> None:
        self._stream = stream
        self._offset = offset

    def read(self, size: int = -1) -> bytes:
        return self._stream.read(size)

    def seek(self, position: int) -> int:
        return self._stream.seek(self._offset + position) - self._offset

    def tell(self) -> int:
        return self._stream.tell() - self._offset


def _must(stream: Any) -> Any:
    if stream is None:
        raise ValueError("a member is not a file")
    return stream


def _resolved(members: Mapping[str, tarfile.TarInfo], name: str) -> tarfile.TarInfo:
    """A layer's member; older engines write a repeated layer as a link."""
    member = members[name]
    if member.issym():
        member = members[posixpath.normpath(posixpath.join(posixpath.dirname(name), member.linkname))]
    return member


def _file(member: tarfile.TarInfo, *, layer: int, base: int) -> File:
    kind = _KINDS.get(member.type, DEVICE)
    name = posixpath.normpath(member.name.lstrip("/"))
    folder, last = posixpath.split(name)
    if last == _OPAQUE:
        name, kind = f"{folder}/", REMOVED
    elif last.startswith(_WHITEOUT):
        name, kind = posixpath.join(folder, last.removeprefix(_WHITEOUT)), REMOVED
    return File(
        name=name,
        kind=kind,
        mode=member.mode & 0o7777,
        uid=member.uid,
        gid=member.gid,
        mtime=int(member.mtime),
        target=posixpath.normpath(member.linkname) if kind == HARD_LINK else member.linkname,
        size_bytes=member.size if kind == FILE else 0,
        offset=base + member.offset_data if kind == FILE else 0,
        layer=layer,
        attributes=tuple(sorted((k, v) for k, v in member.pax_headers.items() if k.startswith(_XATTR))),
    )


def _covered(layers: Iterator[Iterator[File]]) -> dict[str, File]:
    """Name → its topmost file. Removed names stay listed: they may hide a name further below."""
    seen: dict[str, File] = {}
    for layer in layers:
        arrived = list(layer)
        for gone in (one for one in arrived if one.kind == REMOVED):
            under = gone.name if gone.name.endswith("/") else f"{gone.name}/"
            for name in [name for name in seen if name == gone.name or name.startswith(under)]:
                del seen[name]
        arrived.sort(key=lambda one: one.kind != REMOVED)
        seen.update((one.name, one) for one in arrived if one.name != ".")
    return seen


def _is_as_before(one: File, below: Mapping[str, File]) -> bool:
    """Whether a file changes nothing of the layers below: the same folder, or a removal of nothing."""
    if one.kind == REMOVED:
        return not any(name == one.name or name.startswith(f"{one.name.rstrip('/')}/") for name in below)
    before = below.get(one.name)
    if one.kind != DIRECTORY or before is None:
        return False
    same = ("kind", "mode", "uid", "gid", "attributes")
    return all(getattr(one, key) == getattr(before, key) for key in same)


def _parents(name: str) -> Iterator[str]:
    while name := posixpath.dirname(name.rstrip("/")):
        yield name


def _linked(files: Sequence[File]) -> tuple[File, ...]:
    """The first of several names of one content is the file, the others are links to it."""
    first: dict[tuple[int, int], str] = {}
    found = []
    for one in files:
        key = (one.layer, one.offset)
        if one.kind == FILE and one.offset and first.setdefault(key, one.name) != one.name:
            one = dataclasses.replace(one, kind=HARD_LINK, target=first[key], size_bytes=0, offset=0)  # noqa: PLW2901
        found.append(one)
    return tuple(found)
