r"""The members of archives, and what is compressed anywhere in bytes, as far as it can be unpacked.

>>> import zlib
>>> list(members(b"\0 picture" + zlib.compress(b"a comment")))
[('', b'a comment')]
"""

from __future__ import annotations

import bz2
import io
import lzma
import re
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from typing import IO, Protocol

MOST_BYTES = 256 << 20
#: What a text in base64 begins with that is worth a look.
MARKS = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"]\0\0", b"x\x01", b"x\x9c", b"x\xda", b"PK\3\4")
_ZIP_ENDS, _ZIP_TAIL = b"PK\5\6", 66_000
_TAR, _TAR_AT = b"ustar", 257
_NO_TEXT = re.compile(rb"[\0-\x08\x0e-\x1a\x1c-\x1f\x80-\xff]")
# Where a stream begins: by gzip, zlib, bzip2 or xz, or a deflated member of a zip file, behind its header.
_STREAM = re.compile(
    rb"(?P<gzip>\x1f\x8b\x08)|(?P<zlib>x[\x01\x5e\x9c\xda])|(?P<bzip2>BZh[1-9]1AY&SY)|(?P<xz>\xfd7zXZ\0)|"
    rb"(?P<member>PK\x03\x04.{4}\x08\x00.{16}(?P<name>..)(?P<extra>..))",
    re.DOTALL,
)
_LZMA = b"]\0\0"  # the older form of xz; too common to be looked for within other bytes
_BLOCK = 1 << 16
_SHORTEST = 8  # less comes out of bytes that only begin like a stream
_DAMAGED = (zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, EOFError, OSError, ValueError)


class TooMuchError(Exception):
    """More is packed in a file than is unpacked for a look."""


class _Unpacker(Protocol):
    """What the standard library has for each form, given one block at a time."""

    @property
    def eof(self) -> bool: ...

    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


# The number says zlib what stands around a stream: https://docs.python.org/3/library/zlib.html#zlib.decompress
_UNPACKERS: dict[str, Callable[[], _Unpacker]] = {
    "gzip": lambda: zlib.decompressobj(31),
    "zlib": lambda: zlib.decompressobj(15),
    "member": lambda: zlib.decompressobj(-15),
    "bzip2": bz2.BZ2Decompressor,
    "xz": lzma.LZMADecompressor,
}


def members(content: bytes) -> Iterator[tuple[str, bytes]]:
    """The members of an archive with their names, and what else is packed, with none.

    Of a file that is cut short or damaged, what comes out before that.

    Raises:
        TooMuchError: if more than `MOST_BYTES` come out.
    """
    left = [MOST_BYTES]
    is_zip = _ZIP_ENDS in content[-_ZIP_TAIL:]
    try:
        if is_zip or content[_TAR_AT:].startswith(_TAR):
            yield from _of_zip(content, left) if is_zip else _of_tar(content, left)
            return
    except _DAMAGED:
        pass  # or not what it begins like
    if content.startswith(_LZMA):
        yield "", _unpacked(lzma.LZMADecompressor(), content, 0, left)
    elif _NO_TEXT.search(content):
        yield from _streams(content, left)


def _of_zip(content: bytes, left: list[int]) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(io.BytesIO(content)) as packed:
        for one in packed.infolist():
            if one.flag_bits & 1:
                yield one.filename, b""  # encrypted: only its name is seen
                continue
            with packed.open(one) as stream:
                yield one.filename, _read(stream, left)


def _of_tar(content: bytes, left: list[int]) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as tar:
        for member in tar:
            stream = tar.extractfile(member) if member.isfile() else None
            yield member.name, _read(stream, left) if stream else b""


def _read(stream: IO[bytes], left: list[int]) -> bytes:
    content = stream.read(left[0] + 1)
    _take(left, len(content))
    return content


def _streams(content: bytes, left: list[int]) -> Iterator[tuple[str, bytes]]:
    """What is compressed anywhere: alone, behind another, in a picture, in an archive cut short."""
    for match in _STREAM.finditer(content):
        name, begin = "", match.start()
        if match["member"]:
            length, extra = (int.from_bytes(match[which], "little") for which in ("name", "extra"))
            name = content[match.end() : match.end() + length].decode("utf-8", "replace")
            begin = match.end() + length + extra
        form = next(one for one in _UNPACKERS if match[one])
        inner = _unpacked(_UNPACKERS[form](), content, begin, left)
        if len(inner) >= _SHORTEST:
            yield name, inner


def _unpacked(stream: _Unpacker, content: bytes, begin: int, left: list[int]) -> bytes:
    """All that comes out before the end, or before the place where it is damaged."""
    parts = []
    for at in range(begin, len(content), _BLOCK):
        try:
            parts.append(stream.decompress(content[at : at + _BLOCK], left[0] + 1))
        except _DAMAGED:
            break
        _take(left, len(parts[-1]))
        if stream.eof:
            break
    return b"".join(parts)


def _take(left: list[int], num_bytes: int) -> None:
    left[0] -= num_bytes
    if left[0] < 0:
        raise TooMuchError
