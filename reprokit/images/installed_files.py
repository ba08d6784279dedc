"""Every file of a virtual environment compared with what was installed from the lock.

When an environment is made, its files are listed with their digests, beside it. A file whose size, times and
inode are as at the last look is not read again; where something moved, or on request, all are, and then the
wheels of the lock are compared too.
"""

from __future__ import annotations

import base64
import contextlib
import csv
import hashlib
import io
import json
import os
import re
import stat
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from reprokit.errors import WorkspaceError
from reprokit.images.packages import Package
from reprokit.workspace import sha256_of, write_json

MARKER = "reprokit.json"
_MOST_NAMED = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    """What came of a look at an environment."""

    num_files: int  # files that were installed
    whole: bool  # whether their content was read, or only that nothing moved since it was
    foreign: tuple[str, ...]  # what is not as installed, a sentence each

    def as_fact(self) -> dict[str, object]:
        """As ``run.json`` says it."""
        named = list(self.foreign[:_MOST_NAMED])
        return {
            "files": self.num_files,
            "whole": self.whole,
            "foreign": named,
            "num_foreign": len(self.foreign),
        }


def list_of(folder: Path) -> Path:
    """Where the list of an environment's files is."""
    return folder.with_name(f"{folder.name}.files.json")


def listed(folder: Path) -> Mapping[str, str]:
    """The files of an environment with their digests, as they were when it was made; empty without a list."""
    try:
        files = json.loads(list_of(folder).read_text(encoding="utf-8"))["files"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return {}
    return files if isinstance(files, dict) else {}


def write_list(folder: Path) -> None:
    """List the files of an environment that was made this moment."""
    seen = _stats(folder)
    files = {name: _content(folder / name, status) for name, status in seen.items()}
    write_json(list_of(folder), {"files": files, "unchanged": _digest_of(seen)})


def check(folder: Path, *, wheels: Path | None, packages: tuple[Package, ...] = (), whole: bool) -> Installed:
    """Compare an environment with its list, and with the wheels of its lock where they are still there."""
    try:
        known = json.loads(list_of(folder).read_text(encoding="utf-8"))
        files: dict[str, str] = dict(known["files"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return Installed(num_files=0, whole=False, foreign=("there is no list of what was installed",))
    try:
        return _looked_at(folder, known, files, wheels=wheels, packages=packages, whole=whole)
    except OSError as error:
        gone = f"{error.filename or folder} cannot be read: {error.strerror or error}"
        return Installed(num_files=len(files), whole=False, foreign=(gone,))


def _looked_at(
    folder: Path,
    known: Mapping[str, object],
    files: Mapping[str, str],
    *,
    wheels: Path | None,
    packages: tuple[Package, ...],
    whole: bool,
) -> Installed:
    """As ``check``.

    Raises:
        OSError: A folder or a wheel went away meanwhile, or may not be read.
    """
    seen = _stats(folder)
    now = _digest_of(seen)
    if known.get("unchanged") == now and not whole:
        return Installed(num_files=len(files), whole=False, foreign=())
    found = [f"{name} is not from the lock" for name in seen if name not in files]
    found += [f"{name} is missing" for name in files if name not in seen]
    found += [
        f"{name} is not as installed"
        for name, content in files.items()
        if name in seen and _content(folder / name, seen[name]) != content
    ]
    if wheels is not None and wheels.is_dir():
        found += _against_wheels(files, wheels, packages)
    foreign = tuple(sorted(found))
    if not foreign:
        with contextlib.suppress(WorkspaceError):  # without it the next look reads everything again
            write_json(list_of(folder), {"files": files, "unchanged": now})
    return Installed(num_files=len(files), whole=True, foreign=foreign)


def _stats(folder: Path) -> dict[str, os.stat_result]:
    """Every file and link of an environment but its marker; links are not followed."""
    found, left = {}, [""]
    while left:
        here = left.pop()
        with os.scandir(folder / here) as children:
            for child in children:
                name = f"{here}/{child.name}".lstrip("/")
                if child.is_dir(follow_symlinks=False):
                    left.append(name)
                elif name != MARKER:
                    found[name] = child.stat(follow_symlinks=False)
    return found


def _digest_of(seen: Mapping[str, os.stat_result]) -> str:
    """What changes when a file is written, replaced or moved; its change time cannot be set back."""
    sha = hashlib.sha256()
    for name in sorted(seen):
        one = seen[name]
        facts = (one.st_mode, one.st_size, one.st_mtime_ns, one.st_ctime_ns, one.st_ino)
        sha.update(f"{name}\0{facts}\n".encode("utf-8", "surrogateescape"))
    return f"sha256:{sha.hexdigest()}"


def _content(path: Path, status: os.stat_result) -> str:
    try:
        if stat.S_ISLNK(status.st_mode):
            return f"link {path.readlink()}"
        return sha256_of(path) if stat.S_ISREG(status.st_mode) else "no file"
    except OSError as error:
        return f"cannot be read: {error.strerror}"


def _against_wheels(files: Mapping[str, str], wheels: Path, packages: tuple[Package, ...]) -> Iterator[str]:
    """Where the list itself is not what the wheels of the lock hold."""
    allowed = {one for package in packages for one in package.hashes}
    site = next((name.partition("site-packages/")[0] for name in files if "site-packages/" in name), "")
    for wheel in sorted(wheels.glob("*.whl")):
        if sha256_of(wheel) not in allowed:
            yield f"the wheel {wheel.name} is not in the lock"
            continue
        for name, digest in _recorded(wheel):
            if files.get(f"{site}site-packages/{name}") != digest:
                yield f"{name} is not as in the wheel {wheel.name}"


def _recorded(wheel: Path) -> Iterator[tuple[str, str]]:
    """File → SHA-256, as a wheel's own RECORD has it, for what goes where packages are imported from.

    https://packaging.python.org/en/latest/specifications/binary-distribution-format/
    """
    with zipfile.ZipFile(wheel) as archive:
        members = [name for name in archive.namelist() if not name.endswith("/")]
        [record] = [name for name in members if re.fullmatch(r"[^/]+\.dist-info/RECORD", name)]
        rows = csv.reader(io.StringIO(archive.read(record).decode("utf-8")))
        digests = {row[0]: row[1].partition("=") for row in rows if len(row) > 1}
        for member in members:
            top, *rest = PurePosixPath(member).parts
            in_data = top.endswith(".data")
            if member == record or (in_data and (len(rest) < 2 or rest[0] not in {"purelib", "platlib"})):
                continue
            kind, _, text = digests.get(member, ("", "", ""))
            if kind == "sha256":
                digest = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).hex()
            else:
                digest = hashlib.sha256(archive.read(member)).hexdigest()
            yield "/".join(rest[1:]) if in_data else member, f"sha256:{digest}"
