"""What one of several runs on this host leaves where a later one finds it: memory, home, caches, packages.

A file counts that this user wrote while an earlier run was under way and that was read while a later one was.
Which program it was the system does not say, so what is open now is left out: that is another program's. Of
shared memory it is enough that it was left. What a plain command leaves in its own folder is said elsewhere.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import stat
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from reprokit.capture.interpreter import find_python
from reprokit.core.records import RunSpec

_MEMORY = ("/dev/shm", "/dev/mqueue")  # noqa: S108  (read, never written)
#: Folders of files that any program may leave: looked at, but not below.
_OPEN_TO_ALL = ("/tmp", "/var/tmp", "/opt", "/srv")  # noqa: S108
#: Below the home, and what leads elsewhere: where libraries keep what they made or fetched.
_KEPT = (".cache", ".config", ".local/share", ".keras", ".torch", ".matplotlib", ".triton")
_LEAD_ELSEWHERE = (
    *("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "TORCH_HOME", "HF_HOME", "KERAS_HOME"),
    *("MPLCONFIGDIR", "NLTK_DATA", "NUMBA_CACHE_DIR", "TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR"),
)
#: Directly in the home: what shells, editors and desktops write and read whenever a person works.
_OF_A_PERSON = (
    *(".*history", ".histfile", ".lesshst", ".viminfo*", ".zcompdump*", ".wget-hsts"),
    *(".xsession-errors*", ".[XI]*authority"),
)
_MOST_ENTRIES, _DEPTH = 20_000, 4
_MOST_NAMED = 20
_SYSTEM_V = {"shm": "shared memory", "msg": "a message queue", "sem": "a semaphore"}


class SharedPlaces:
    """Looked at when each of the runs of a plan has ended. Safe to use from several threads.

    Args:
        specs: The runs; of one alone nothing is looked at.
        leave_out: Folders of the tool itself.
        project: The folder that a recipe's program was copied from; None where the runs start in it.
        repository: The folder whose neighbours are looked at, too; None where it is not known.
    """

    def __init__(
        self,
        specs: Iterable[RunSpec],
        *,
        leave_out: Iterable[Path],
        project: Path | None = None,
        repository: Path | None = None,
    ) -> None:
        self._specs = tuple(specs)
        self._project = [str(project)] if project is not None else []
        self._beside = [str(repository.resolve().parent)] if repository is not None else []
        self._leave_out = tuple(str(path.resolve()) for path in leave_out)
        self._written: dict[str, float] = {}  # path → when the run that left it had ended
        self._lock = threading.Lock()

    def after(self, spec: RunSpec, *, began: float, ended: float, is_confined: bool) -> dict[str, Any]:
        """What ``run.json`` says of a run: ``shared``, where there is something to say.

        Args:
            spec: The run.
            began: When it began, seconds since 1970.
            ended: When it had ended.
            is_confined: Whether it could write to its own folders and to shared memory only.
        """
        if len(self._specs) < 2:
            return {}
        with self._lock:
            memory = _left_in_memory(began)
            read: dict[str, list[str]] = {"files": [], "kept": []}
            if not is_confined:
                earlier = [path for path, end in self._written.items() if end <= began]
                home, kept = _home_of(spec), tuple(_kept_folders(spec))
                found = _not_open(one for one in earlier if _was_read(one, since=began))
                for path in sorted({_source_of(one) or one for one in found}):
                    is_kept = path.startswith(kept) or _is_a_persons(path, home=home)
                    read["kept" if is_kept else "files"].append(path)
                for path in self._now_written(spec, began):
                    _as_unread(path)
                    self._written[path] = ended
        told = {"memory": memory, **read}
        return (
            {"shared": {name: found[:_MOST_NAMED] for name, found in told.items()}}
            if any(told.values())
            else {}
        )

    def written(self) -> frozenset[str]:
        """What the runs so far wrote where others find it; an empty file, such as a lock, tells nothing."""
        with self._lock:
            return frozenset(filter(_has_content, self._written))

    def caches(self) -> tuple[str, ...]:
        """The folders in which libraries keep what they made or fetched."""
        return tuple(dict.fromkeys(folder for spec in self._specs for folder in _caches(spec)))

    def _now_written(self, spec: RunSpec, began: float) -> Iterator[str]:
        python = find_python(spec.command)
        prefix = [str(Path(python).parent.parent)] if python else []
        flat = {*_OPEN_TO_ALL, tempfile.gettempdir(), _home_of(spec), *prefix, *self._beside}
        deep = dict.fromkeys([*_kept_folders(spec), *self._project])
        for folder, depth in [*((one, 1) for one in flat), *((one, _DEPTH) for one in deep)]:
            for path, status in _files(folder, depth=depth):
                is_own = stat.S_ISREG(status.st_mode) and status.st_uid == os.getuid()
                if is_own and status.st_ctime >= began and not path.startswith(self._leave_out):
                    source = _source_of(path)
                    # byte-code of a module that was there before says nothing that its source does not
                    if not source or os.stat(source).st_ctime >= began:  # noqa: PTH116
                        yield path


def _home_of(spec: RunSpec) -> str:
    return spec.environment.get("HOME") or os.environ.get("HOME") or str(Path.home())


def _is_a_persons(path: str, *, home: str) -> bool:
    folder, name = os.path.split(path)
    return folder == home and any(fnmatchcase(name, pattern) for pattern in _OF_A_PERSON)


def _caches(spec: RunSpec) -> Iterator[str]:
    variables, home = {**os.environ, **spec.environment}, _home_of(spec)
    yield from (f"{home}/{name}" for name in _KEPT)
    yield from (variables[name] for name in _LEAD_ELSEWHERE if variables.get(name))


def _kept_folders(spec: RunSpec) -> Iterator[str]:
    """Where libraries keep what they made or fetched, and the packages of the program's Python."""
    yield from _caches(spec)
    home = _home_of(spec)
    python = find_python(spec.command)
    for root in (Path(python).parent.parent, Path(home, ".local")) if python else ():
        yield from map(str, root.glob("lib/python3*/site-packages"))


def _files(folder: str, *, depth: int) -> Iterator[tuple[str, os.stat_result]]:
    """The files of a folder, so many levels of it; what may not be read is left out."""
    left, entries = [(folder, 1)], 0
    while left and entries < _MOST_ENTRIES:
        here, level = left.pop()
        with contextlib.suppress(OSError), os.scandir(here) as children:
            for child in children:
                entries += 1
                if child.is_dir(follow_symlinks=False):
                    if level < depth:
                        left.append((child.path, level + 1))
                else:
                    yield child.path, child.stat(follow_symlinks=False)


def _source_of(path: str) -> str:
    """The source that byte-code in ``__pycache__`` was compiled from, if it is still there; else ""."""
    with contextlib.suppress(ValueError):
        source = importlib.util.source_from_cache(path) if path.endswith(".pyc") else ""
        return source if os.path.isfile(source) else ""  # noqa: PTH113
    return ""


def _left_in_memory(began: float) -> list[str]:
    """What no process has open, and what is still there when all were asked: other programs end meanwhile."""
    found = _not_open(_memory_since(began))
    return sorted(found.intersection(_memory_since(began))) if found else []


def _memory_since(began: float) -> Iterator[str]:
    """Shared memory, queues and semaphores of this user that were made or changed since then."""
    for path, status in (found for folder in _MEMORY for found in _files(folder, depth=_DEPTH)):
        if status.st_uid == os.getuid() and status.st_ctime >= began:
            yield path
    for kind, name in _SYSTEM_V.items():
        with contextlib.suppress(OSError, ValueError, KeyError):
            head, *rows = Path(f"/proc/sysvipc/{kind}").read_text(encoding="ascii").splitlines()
            for row in rows:
                values: Mapping[str, str] = dict(zip(head.split(), row.split(), strict=True))
                if int(values["uid"]) == os.getuid() and int(values["ctime"]) >= int(began):
                    yield f"{name} of System V, key {values['key']}"


def _has_content(path: str) -> bool:
    with contextlib.suppress(OSError):
        return os.stat(path).st_size > 0  # noqa: PTH116  (many files)
    return False


def _was_read(path: str, *, since: float) -> bool:
    with contextlib.suppress(OSError):
        return os.stat(path).st_atime >= since  # noqa: PTH116  (many files)
    return False


def _as_unread(path: str) -> None:
    """Set a file's time of reading before its last change: else most systems do not note the next one."""
    with contextlib.suppress(OSError):
        changed = os.stat(path).st_mtime_ns  # noqa: PTH116
        os.utime(path, ns=(changed - 1, changed))


def _not_open(paths: Iterable[str]) -> set[str]:
    """Those of the paths that no process has open or mapped, as far as this user may ask.

    Files are identified by device and inode: a semaphore is mapped under a name that it has no longer.
    """
    left = {path: _identity(path) for path in paths}
    for process in filter(str.isdecimal, os.listdir("/proc") if left else ()):  # noqa: PTH208  (names, quickly)
        with contextlib.suppress(OSError):
            used = set(_used_by(f"/proc/{process}"))
            left = {path: one for path, one in left.items() if one is None or one not in used}
    return set(left)


def _identity(path: str) -> tuple[int, int] | None:
    with contextlib.suppress(OSError):
        status = os.stat(path)  # noqa: PTH116  (many files)
        return status.st_dev, status.st_ino
    return None


def _used_by(process: str) -> Iterator[tuple[int, int]]:
    """Device and inode of the files that a process has open or mapped."""
    with os.scandir(f"{process}/fd") as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                status = entry.stat()
                yield status.st_dev, status.st_ino
    for line in Path(process, "maps").read_text("utf-8", "replace").splitlines():
        _, _, _, device, inode, *_ = line.split(maxsplit=5)
        if inode != "0":
            major, _, minor = device.partition(":")
            yield os.makedev(int(major, 16), int(minor, 16)), int(inode)
