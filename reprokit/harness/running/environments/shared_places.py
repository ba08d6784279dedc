"""What one of several runs on this host leaves where a later one finds it: memory, home, caches, packages.

A file counts that this user wrote while an earlier run was under way and that was read while a later one was,
also where the later one removed it: the file is kept open by its name alone, so that its times can be asked.
Which program it was times do not say, so what is open now is left out: that is another program's. Where the
kernel says what the later run opened (``other_runs``), a file counts wherever it lies. Of
shared memory it is enough that it was left. What a plain command leaves in its own folder is said elsewhere.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import stat
import tempfile
import threading
import weakref
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from reprokit.capture.interpreter import find_python
from reprokit.core.records import RunSpec
from reprokit.harness.running.environments.inherited import inherited
from reprokit.harness.running.programs.tree_changes import Tree

_BY_NAME: int = getattr(os, "O_PATH", 0)
_MEMORY = ("/dev/shm", "/dev/mqueue")  # noqa: S108  (read, never written)
#: Folders of files that any program may leave: looked at, but not below.
_OPEN_TO_ALL = ("/tmp", "/var/tmp", "/opt", "/srv")  # noqa: S108
#: Below the home, and what leads elsewhere: where libraries keep what they made or fetched.
_KEPT = (
    *(".cache", ".config", ".local/share", ".keras", ".torch", ".matplotlib", ".triton", ".nv"),
    *(".cupy", "scikit_learn_data", "tensorflow_datasets", "nltk_data"),
)
_LEAD_ELSEWHERE = (
    *("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "TORCH_HOME", "HF_HOME", "KERAS_HOME"),
    *("MPLCONFIGDIR", "NLTK_DATA", "NUMBA_CACHE_DIR", "TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR"),
    *("CUDA_CACHE_PATH", "CUPY_CACHE_DIR"),
)
#: Where torch.compile keeps what it made, by default.
_COMPILED = f"{tempfile.gettempdir()}/torchinductor_"
#: Directly in the home: what shells, editors and desktops write and read whenever a person works.
_OF_A_PERSON = (
    *(".*history", ".histfile", ".lesshst", ".viminfo*", ".zcompdump*", ".wget-hsts"),
    *(".xsession-errors*", ".[XI]*authority"),
)
_MOST_ENTRIES, _DEPTH = 20_000, 4
_MOST_NAMED = 20
_MOST_HELD = 200  # files: a process may have 1,024 open on most systems
_SYSTEM_V = {"shm": "shared memory", "msg": "a message queue", "sem": "a semaphore"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Left:
    """A file or link that a run left.

    Args:
        path: Where.
        ended: When that run had ended, seconds since 1970.
        handle: It, open by its name alone, so that its times are known when it is gone; None for no room.
        identity: Its device and inode.
        is_file: Whether it is a regular file.
    """

    path: str
    ended: float
    handle: int | None
    identity: tuple[int, int] | None
    is_file: bool

    def was_read(self, *, since: float) -> bool:
        """Whether it was read since then, also where it was removed after that."""
        with contextlib.suppress(OSError):
            status = os.fstat(self.handle) if self.handle is not None else os.lstat(self.path)
            return status.st_atime >= since
        return self.handle is None  # gone, and no one can say whether it was read before


class SharedPlaces:
    """Looked at when each of the runs of a plan has ended. Safe to use from several threads.

    Args:
        specs: The runs; of one alone nothing is looked at.
        leave_out: Folders of the tool itself.
        projects: The folders that recipes' programs were copied from; none where the runs start in them.
        repositories: The folders whose neighbours are looked at, too.
        tree: The folders of a plain command, of which is said elsewhere what changed in them.
    """

    def __init__(
        self,
        specs: Iterable[RunSpec],
        *,
        leave_out: Iterable[Path],
        projects: Iterable[Path] = (),
        repositories: Iterable[Path] = (),
        tree: Tree | None = None,
    ) -> None:
        self._specs = tuple(specs)
        self._projects = [str(project) for project in projects]
        self._beside = [str(repository.resolve().parent) for repository in repositories]
        self._leave_out = tuple(str(path.resolve()) for path in leave_out)
        self._tree = tree
        self._written: dict[str, _Left] = {}
        self._held: list[int] = []
        self._first_began = 0.0
        weakref.finalize(self, _close, self._held)
        self._inherited = inherited()
        self._lock = threading.Lock()

    def after(
        self,
        spec: RunSpec,
        *,
        began: float,
        ended: float,
        is_confined: bool,
        opened: frozenset[str] | None = None,
        changed: Iterable[str] = (),
    ) -> dict[str, Any]:
        """What ``run.json`` says of a run: ``shared``, where there is something to say.

        Args:
            spec: The run.
            began: When it began, seconds since 1970.
            ended: When it had ended.
            is_confined: Whether it could write to its own folders and to shared memory only.
            opened: Which files of ``left`` it opened, where the kernel said that of all: these alone count.
                None where only times of reading are known.
            changed: What else it opened that was changed since ``since``, before it began, wherever it lies.
        """
        if len(self._specs) < 2:
            return {}
        with self._lock:
            memory = _left_in_memory(began)
            self._first_began = min(began, self._first_began or began)
            read = self._now_read(spec, began, opened, () if is_confined else changed)
            if not is_confined:
                for path in self._now_written(spec, began):
                    _as_unread(path)
                    self._written[path] = self._hold(path, ended)
            now, before = inherited(), self._inherited
        changed = sorted(what for what in {**before, **now} if now.get(what) != before.get(what))
        told = {"memory": memory, "inherited": changed, **read}
        return (
            {"shared": {name: found[:_MOST_NAMED] for name, found in told.items()}}
            if any(told.values())
            else {}
        )

    def left(self) -> frozenset[str]:
        """The files that the runs so far left."""
        with self._lock:
            return frozenset(path for path, one in self._written.items() if one.is_file)

    def since(self) -> float:
        """When the first run that has ended began, seconds since 1970; 0 for none."""
        with self._lock:
            return self._first_began

    def _now_read(
        self, spec: RunSpec, began: float, opened: frozenset[str] | None, changed: Iterable[str]
    ) -> dict[str, list[str]]:
        read: dict[str, list[str]] = {"files": [], "kept": []}
        earlier = {path: one for path, one in self._written.items() if one.ended <= began}
        if opened is not None:  # a file that another program wrote and read, such as a compiler, is none
            earlier = {path: one for path, one in earlier.items() if path in opened or not one.is_file}
        was_read = {path: one.identity for path, one in earlier.items() if one.was_read(since=began)}
        for path in was_read:  # most systems note the next time of reading only of a file that seems unread
            _as_unread(path)
        new = {path for path in changed if self._may_be_of_a_run(path, since=self._first_began)}
        home, kept = _home_of(spec), _as_folders(_kept_folders(spec)) if was_read or new else ()
        for path in sorted({_source_of(one) or one for one in _not_open(was_read) | new}):
            is_kept = path.startswith(kept) or _is_compiled(path) or _is_a_persons(path, home=home)
            read["kept" if is_kept else "files"].append(path)
        return read

    def _may_be_of_a_run(self, path: str, *, since: float) -> bool:
        """Whether a changed file may tell a run something that is said nowhere else."""
        source = _source_of(path)
        is_new = not source or os.stat(source).st_ctime >= since  # noqa: PTH116
        is_told = self._tree is not None and self._tree.tells(path)
        return is_new and not is_told and not self._is_of_git(path)

    def _is_of_git(self, path: str) -> bool:
        """Whether the tool may have had git write it; the rest of such a folder may be of a run."""
        folders = [folder for folder in self._leave_out if folder.endswith("/.git")]
        return any(path == f"{folder}/index" or path.startswith(f"{folder}/objects/") for folder in folders)

    def _hold(self, path: str, ended: float) -> _Left:
        """What a run left, open by its name alone as long as there is room."""
        handle = None
        if len(self._held) < _MOST_HELD:
            with contextlib.suppress(OSError):
                handle = os.open(path, _BY_NAME | os.O_NOFOLLOW)
                self._held.append(handle)
        with contextlib.suppress(OSError):
            is_file = stat.S_ISREG(os.lstat(path).st_mode)
            return _Left(path=path, ended=ended, handle=handle, identity=_identity(path), is_file=is_file)
        return _Left(path=path, ended=ended, handle=handle, identity=None, is_file=False)

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
        deep = dict.fromkeys([*_kept_folders(spec), *self._projects])
        for folder, depth in [*((one, 1) for one in flat), *((one, _DEPTH) for one in deep)]:
            for path, status in _files(folder, depth=depth):
                is_file = stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode)
                is_own = is_file and status.st_uid == os.getuid()
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


def _is_compiled(path: str) -> bool:
    return path.startswith(_COMPILED) and "/" in path[len(_COMPILED) :]


def _as_folders(paths: Iterable[str]) -> tuple[str, ...]:
    """As beginnings of paths: ``.cache-mine`` is no part of ``.cache``."""
    return tuple(f"{path.rstrip('/')}/" for path in paths)


def _caches(spec: RunSpec) -> Iterator[str]:
    """The folders of caches and settings; one that holds the whole home holds more than those."""
    variables, home = {**os.environ, **spec.environment}, _home_of(spec)
    yield from (f"{home}/{name}" for name in _KEPT)
    elsewhere = [variables[name] for name in _LEAD_ELSEWHERE if variables.get(name)]
    above = f"{os.path.realpath(home)}/"
    yield from (one for one in elsewhere if not above.startswith(f"{os.path.realpath(one).rstrip('/')}/"))


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
    found = _not_open({path: _identity(path) for path in _memory_since(began)})
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


def _as_unread(path: str) -> None:
    """Set a file's time of reading before its last change: else most systems do not note the next one."""
    with contextlib.suppress(OSError):
        changed = os.lstat(path).st_mtime_ns
        os.utime(path, ns=(changed - 1, changed), follow_symlinks=False)


def _close(handles: list[int]) -> None:
    for handle in handles:
        with contextlib.suppress(OSError):
            os.close(handle)


def _not_open(paths: Mapping[str, tuple[int, int] | None]) -> set[str]:
    """Those of the paths that no process has open or mapped, as far as this user may ask.

    Args:
        paths: Path → device and inode, by which files are known: a semaphore is mapped under a name that it
            no longer has. None for what is no file.
    """
    left = dict(paths)
    for process in filter(str.isdecimal, os.listdir("/proc") if left else ()):  # noqa: PTH208  (names, quickly)
        with contextlib.suppress(OSError):
            used = set(_used_by(f"/proc/{process}", set(left.values())))
            left = {path: one for path, one in left.items() if one is None or one not in used}
    return set(left)


def _identity(path: str) -> tuple[int, int] | None:
    with contextlib.suppress(OSError):
        status = os.lstat(path)
        return status.st_dev, status.st_ino
    return None


def _used_by(process: str, wanted: Container[tuple[int, int] | None]) -> Iterator[tuple[int, int]]:
    """Device and inode of those files that a process has open or mapped, but not by their name alone."""
    with os.scandir(f"{process}/fd") as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                status = entry.stat()
                used = status.st_dev, status.st_ino
                if used in wanted and not _is_by_name(f"{process}/fdinfo/{entry.name}"):
                    yield used
    for line in Path(process, "maps").read_text("utf-8", "replace").splitlines():
        _, _, _, device, inode, *_ = line.split(maxsplit=5)
        if inode != "0":
            major, _, minor = device.partition(":")
            yield os.makedev(int(major, 16), int(minor, 16)), int(inode)


def _is_by_name(opened: str) -> bool:
    """Whether a file is open by its name alone: so this tool keeps what runs left."""
    flags = re.search(r"^flags:\s*([0-7]+)", Path(opened).read_text("ascii"), re.MULTILINE)
    return bool(flags and int(flags[1], 8) & _BY_NAME)
