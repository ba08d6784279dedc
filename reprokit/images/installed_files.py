"""Every file of a virtual environment compared with what was installed from the lock.

When an environment is made, its files and those of the library of its Python are listed with their digests,
next to it. A file whose size, times and inode are as at the last look is not read again; where something was
moved, or on request, all are, and then the wheels of the lock are compared too.
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
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath

from reprokit.core.records import digest
from reprokit.errors import WorkspaceError
from reprokit.file_tree import statuses
from reprokit.images.file_states import state_of
from reprokit.images.packages import Package
from reprokit.workspace import sha256_of, write_json

MARKER = "reprokit.json"
_MOST_NAMED = 10
#: Of a Python's library not compared: byte-code, which no run reads there, and what is made when it is used.
NOT_LIBRARY = frozenset({"__pycache__", "site-packages", "dist-packages", "test", "lib2to3"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    """What came of a look at an environment."""

    num_files: int  # files that were installed
    whole: bool  # whether their content was read, or only that nothing moved since it was
    foreign: tuple[str, ...]  # what is not as installed, a sentence each
    state: str = ""  # digest of sizes, times and inodes, where nothing is foreign

    def as_fact(self) -> dict[str, object]:
        """As ``run.json`` says it."""
        named = list(self.foreign[:_MOST_NAMED])
        return {
            "files": self.num_files,
            "whole": self.whole,
            "foreign": named,
            "num_foreign": len(self.foreign),
            "state": self.state,
        }


def list_of(folder: Path) -> Path:
    """Where the list of an environment's files is."""
    return folder.with_name(f"{folder.name}.files.json")


def listed(folder: Path, *, what: str = "files") -> Mapping[str, str]:
    """The files of an environment with their digests, as they were when it was made; empty without a list.

    Args:
        folder: The environment.
        what: ``library_files`` for those of the library of its Python.
    """
    try:
        files = json.loads(list_of(folder).read_text(encoding="utf-8"))[what]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return {}
    return files if isinstance(files, dict) else {}


def write_list(folder: Path, *, library: Path | None = None) -> None:
    """List the files of an environment that was made this moment, and of the library of its Python."""
    of_library = str(library or "")
    known = {"unchanged": _state(folder, of_library), "files": _contents(folder), "library": of_library}
    write_json(list_of(folder), {**known, "library_files": _library_contents(of_library)})


def changed_since(state: str, folder: Path) -> tuple[str, ...]:
    """What is not as it was when an environment was looked at before a run, a sentence each.

    Where all content is as installed, its list is removed, so that the environment is made again: modes,
    times and attributes that a run left could carry a number to the next one.

    Args:
        state: What that look found, ``Installed.state``.
        folder: The environment.
    """
    try:
        of_list = list_of(folder).stat()
        library = _library_in(list_of(folder), of_list.st_ino, of_list.st_ctime_ns)
        if _state(folder, library) == state:
            return ()
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        pass  # the look says what of it is gone
    if foreign := check(folder, wheels=None, whole=True).foreign:
        return foreign
    with contextlib.suppress(OSError):
        list_of(folder).unlink()
    return ("files were written and put back",)


@lru_cache(maxsize=4)  # a list of tens of thousands of files, which no one writes between two runs
def _library_in(file: Path, _inode: int, _changed_ns: int) -> str:
    """The library that a list of files names; read again where the file was written again."""
    return str(json.loads(file.read_text(encoding="utf-8"))["library"])


def check(folder: Path, *, wheels: Path | None, packages: tuple[Package, ...] = (), whole: bool) -> Installed:
    """Compare an environment with its list, and with the wheels of its lock where they are still there."""
    try:
        known = json.loads(list_of(folder).read_text(encoding="utf-8"))
        files: dict[str, str] = dict(known["files"])
        dict(known.get("library_files", {}))
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
    library = str(known.get("library", ""))
    now = _state(folder, library)
    if known.get("unchanged") == now and not whole:
        return Installed(num_files=len(files), whole=False, foreign=(), state=now)
    found = list(_unlike(files, _contents(folder)))
    of_library = known.get("library_files", {})
    found += [
        f"{library}/{one}, of the Python itself"
        for one in _unlike(of_library if isinstance(of_library, dict) else {}, _library_contents(library))
    ]
    if wheels is not None and wheels.is_dir():
        found += _against_wheels(files, wheels, packages)
    foreign = tuple(sorted(found))
    if not foreign:
        with contextlib.suppress(WorkspaceError):  # without it the next look reads everything again
            write_json(list_of(folder), {**known, "unchanged": now})
    return Installed(num_files=len(files), whole=True, foreign=foreign, state="" if foreign else now)


def _unlike(known: Mapping[str, str], now: Mapping[str, str]) -> Iterator[str]:
    """Each file that is not as listed, a sentence."""
    yield from (f"{name} is not from the lock" for name in now if name not in known)
    yield from (f"{name} is missing" for name in known if name not in now)
    yield from (f"{name} is not as installed" for name in known if name in now and now[name] != known[name])


def _state(folder: Path, library: str) -> str:
    """What changes when a file of an environment, or of the library of its Python, is written."""
    of_library = ""
    if library:  # other tools write byte-code there, which moves the times of its folders
        of_library = state_of(Path(library), leave_out=NOT_LIBRARY, folders=False)
    return digest([state_of(folder, but=(MARKER,)), of_library])


def _contents(folder: Path, *, leave_out: Collection[str] = ()) -> dict[str, str]:
    """File or link → its digest or target."""
    found = statuses(folder, leave_out=leave_out)
    return {
        name: _content(folder / name, status)
        for name, status in found.items()
        if not stat.S_ISDIR(status.st_mode) and name != MARKER
    }


def _library_contents(library: str) -> dict[str, str]:
    return _contents(Path(library), leave_out=NOT_LIBRARY) if library else {}


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
    inside = (name for name in files if name.startswith("lib/") and "site-packages/" in name)
    site = next(inside, "").partition("site-packages/")[0]
    for wheel in sorted(wheels.glob("*.whl")):
        if sha256_of(wheel) not in allowed:
            yield f"the wheel {wheel.name} is not in the lock"
            continue
        for name, recorded in _recorded(wheel):
            if files.get(f"{site}site-packages/{name}") != recorded:
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
