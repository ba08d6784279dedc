"""Writing a bundle: the same bytes for the same content, and a whole file or none."""

from __future__ import annotations

import gzip
import io
import os
import shutil
import tarfile
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from reprokit.core.records import digest_bytes
from reprokit.errors import UsageError
from reprokit.features.bundles.archive_form import (
    BLOCK_BYTES,
    HEADER,
    UnpackLimits,
    digest_of_rest,
    problem_of_name,
)
from reprokit.features.bundles.manifest import BundleManifest, FileEntry
from reprokit.layout import BUNDLE
from reprokit.workspace import cannot_write, sha256_of

_PLAIN_HEADER_BYTES = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """One file to be written into a bundle: its content, or the file that holds it."""

    content: bytes | Path
    executable: bool = False

    @property
    def num_bytes(self) -> int:
        return len(self.content) if isinstance(self.content, bytes) else self.content.stat().st_size

    def sha256(self) -> str:
        """``sha256:…`` of the content."""
        return digest_bytes(self.content) if isinstance(self.content, bytes) else sha256_of(self.content)


def write(path: Path, files: Mapping[str, Packed], *, manifest: BundleManifest) -> str:
    """Write a bundle, whole or not at all; two of the same content are byte-equal.

    Args:
        path: Where to.
        files: Name → content.
        manifest: What is said of it; its ``files`` are filled in here.

    Returns:
        The SHA-256 of the archive, ``sha256:…``.

    Raises:
        UsageError: A name could not be unpacked again.
        WorkspaceError: The file cannot be written.
    """
    for name in files:
        if problem := problem_of_name(name, UnpackLimits()):
            raise UsageError(f"this file cannot go into a bundle: {problem}", where=name)
    try:
        listed = {
            name: FileEntry(sha256=one.sha256(), bytes=one.num_bytes, executable=one.executable)
            for name, one in sorted(files.items())
        }
        manifest = replace(manifest, files=listed)
        with (
            tempfile.TemporaryFile(dir=path.parent) as body,
            tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as final,
        ):
            try:
                _write_body(body, {BUNDLE: Packed(content=manifest.to_bytes()), **files})
                final.write(HEADER + digest_of_rest(body).encode() + b"\0")
                shutil.copyfileobj(body, final, BLOCK_BYTES)
                final.flush()
                os.fsync(final.fileno())
                Path(final.name).chmod(0o644)
                Path(final.name).replace(path)
            except BaseException:
                Path(final.name).unlink(missing_ok=True)
                raise
    except OSError as error:
        raise cannot_write(path, error) from error
    return sha256_of(path)


def _write_body(body: IO[bytes], files: Mapping[str, Packed]) -> None:
    """Everything after the header: what gzip writes, without the header of its own."""
    with (
        gzip.GzipFile(filename="", fileobj=body, mode="wb", compresslevel=9, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        for name in (BUNDLE, *sorted(set(files) - {BUNDLE})):  # every reader needs the manifest first
            _add(tar, name, files[name])
    body.seek(_PLAIN_HEADER_BYTES)


def _add(tar: tarfile.TarFile, name: str, one: Packed) -> None:
    member = tarfile.TarInfo(name)
    member.mode = 0o755 if one.executable else 0o644
    if isinstance(one.content, bytes):
        member.size = len(one.content)
        tar.addfile(member, io.BytesIO(one.content))
        return
    with one.content.open("rb") as stream:
        member.size = os.fstat(stream.fileno()).st_size
        tar.addfile(member, stream)
