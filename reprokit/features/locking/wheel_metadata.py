"""Corrects in a wheel that was built here what old packages require in words that installers no longer read.

>>> readable("opencv-python (>=3.) ; extra == 'all'")
"opencv-python (>=3) ; extra == 'all'"
"""

from __future__ import annotations

import base64
import hashlib
import re
import zipfile
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement

from reprokit.images.cache import Progress

_REQUIRES = re.compile(r"^Requires-Dist: (.*)$", re.MULTILINE)
_END_OF_VERSION = re.compile(r"(?<=\d)\.(?=\s*(?:[,);]|$))")


def correct(wheel: Path, *, on_progress: Progress) -> None:
    """Write a wheel again whose requirements cannot be read as they stand, and say which they are."""
    with zipfile.ZipFile(wheel) as archive:
        files = {info: archive.read(info) for info in archive.infolist()}
    metadata = next(info for info in files if re.fullmatch(r"[^/]+\.dist-info/METADATA", info.filename))
    text = files[metadata].decode("utf-8", "replace")
    better = _REQUIRES.sub(lambda found: f"Requires-Dist: {readable(found[1])}", text)
    if better == text:
        return
    for old, new in zip(_REQUIRES.findall(text), _REQUIRES.findall(better), strict=True):
        if old != new:
            on_progress(f"{wheel.name}: {old!r} is read as {new!r}")
    files[metadata] = better.encode()
    record = next(info for info in files if info.filename.endswith(".dist-info/RECORD"))
    rows = files[record].decode("utf-8").splitlines()
    files[record] = "".join(f"{_row(row, metadata.filename, files[metadata])}\n" for row in rows).encode()
    with zipfile.ZipFile(wheel, "w") as archive:
        for info, content in files.items():
            archive.writestr(info, content)


def readable(requirement: str) -> str:
    """A requirement with versions that end in a dot without it, where it cannot be read as it stands."""
    try:
        Requirement(requirement)
    except InvalidRequirement:
        return _END_OF_VERSION.sub("", requirement)
    return requirement


def _row(row: str, name: str, content: bytes) -> str:
    """A line of the wheel's list of files, with the digest of its new content."""
    if not row.startswith(f"{name},"):
        return row
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(content)}"
