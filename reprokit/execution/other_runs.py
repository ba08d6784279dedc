"""Which files of other runs a program opens, whatever path leads there; for ``local_guard``.

What lay in the folders of other runs when the program started is known by device and inode, so that a hard
link, a link or another mount hides nothing. What was made since then is known by its path. The guard alone
imports it: standard library only.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

#: As in ``layout``: a folder that holds one of these is a run or a golden.
_RECORDS = ("run.json", "provenance.json")
#: What no run of another side wrote.
_NOTHING: Mapping[str, Any] = {"files": (), "folders": (), "since": 0.0, "until": 0.0}
#: Their files are as new as the look at them.
_OF_THE_KERNEL = ("/proc/", "/sys/")
_DEEPEST = 4  # RECIPE/PLATFORM/on-CPU/seed-N
_MOST_FILES = 50_000


class OtherRuns:
    """Files that count, looked for once.

    Args:
        trees: Folders of which every file counts that lies in no folder of runs.
        runs: Folders of runs and goldens: every file counts that lies in one.
        allowed: Files and folders of which none counts.
        left: Further files that count, by device and inode.
        left_since: Any file counts that this user may write and that was changed from then on, before the
            program was about to start, seconds since 1970; 0 for none.
        written: ``files`` that count, and ``folders`` of which those count that are not empty and changed
            from ``since`` to ``until``, seconds since 1970.
        since_ns: When the program was about to start, by the clock of its file system.
        lists: Whether folders count too, since who lists one sees the names in it.
        searched: Folders in which Python looks for modules, so that each program lists them.
    """

    def __init__(
        self,
        *,
        trees: Iterable[str],
        runs: Iterable[str],
        allowed: Iterable[str],
        since_ns: int,
        lists: bool = False,
        searched: Iterable[str] = (),
        left: Iterable[str] = (),
        left_since: float = 0.0,
        written: Mapping[str, Any] = _NOTHING,
    ) -> None:
        self._trees = tuple(f"{os.path.realpath(folder)}/" for folder in trees)
        self._runs = tuple(dict.fromkeys(f"{os.path.realpath(folder)}/" for folder in runs))
        self._allowed = tuple(f"{os.path.realpath(path)}/" for path in allowed)
        self._since_ns = since_ns
        self._lists = lists
        self._searched = frozenset(map(os.path.realpath, searched))
        self._written = frozenset(map(os.path.realpath, written["files"]))
        self._written_in = frozenset(map(os.path.dirname, self._written)) - self._searched
        self._changed_in = tuple(f"{os.path.realpath(folder)}/" for folder in written["folders"])
        self._changed_s = (written["since"], written["until"])
        self._left_s = (left_since, since_ns / 1e9 if left_since else 0.0)
        self._user = os.getuid()
        self._appended_to: set[tuple[int, int]] = set()
        self._known: dict[tuple[int, int], tuple[str, int]] = {}
        for path in (*left, *written["files"]):
            with contextlib.suppress(OSError):
                status = os.stat(path)  # noqa: PTH116
                if stat.S_ISREG(status.st_mode) and status.st_size:
                    self._known[(status.st_dev, status.st_ino)] = (path, status.st_mtime_ns)
        for path, status in self._files():
            if len(self._known) >= _MOST_FILES:
                self._since_ns = 0  # there are too many to know them all: by their paths, then
                break
            self._known[(status.st_dev, status.st_ino)] = (path, status.st_mtime_ns)

    def opened(self, path: str) -> tuple[str, str]:
        """How what is opened by a path counts, ``read``, ``left`` or ``listed``, and its own path; or ""."""
        try:
            status = os.stat(path)  # noqa: PTH116  (at each file that is opened)
        except (OSError, ValueError):
            return "", ""
        if stat.S_ISDIR(status.st_mode):
            name = self._folder_of(path, status)
            return ("listed", name) if name else ("", "")
        if not stat.S_ISREG(status.st_mode):
            return "", ""
        if name := self._name_of(path, status):
            return "read", name
        if self._was_changed_meanwhile(path, status):
            real = os.path.realpath(path)
            if not real.startswith(_OF_THE_KERNEL) and not f"{real}/".startswith(self._allowed):
                return "left", real
        return "", ""

    def appended_to(self, path: str) -> None:
        """Note a file that this run is about to append to, which hides when an earlier one changed it."""
        with contextlib.suppress(OSError, ValueError):
            status = os.stat(path)  # noqa: PTH116
            if stat.S_ISREG(status.st_mode) and self._was_changed_meanwhile(path, status):
                self._appended_to.add((status.st_dev, status.st_ino))

    def _was_changed_meanwhile(self, path: str, status: os.stat_result) -> bool:
        """Whether an earlier run may have written it, whoever owns it.

        A run that sets the mode of a file, renames it or links to it before it reads it changes the time of
        its status, and leaves the time of its content.
        """
        if (status.st_dev, status.st_ino) in self._appended_to:
            return True
        since, until = self._left_s
        is_new = since <= status.st_ctime < until or since <= status.st_mtime < until
        if not is_new or not status.st_size:
            return False
        return status.st_uid == self._user or os.access(path, os.W_OK)

    def _name_of(self, path: str, status: os.stat_result) -> str:
        known = self._known.get((status.st_dev, status.st_ino))
        if known is not None and _is_still(status, *known):
            return known[0]
        if self._trees or self._written or self._changed_in or status.st_ctime_ns >= self._since_ns:
            real = os.path.realpath(path)
            if self._counts(real) or self._is_of_other_side(real, status):
                return real
        return ""

    def _folder_of(self, path: str, status: os.stat_result) -> str:
        """The folder's own path, where it is of the trees and runs, or of what another side left in it."""
        if not self._lists:
            return ""
        real = os.path.realpath(path)
        since, until = self._changed_s
        is_changed = since <= status.st_ctime < until and f"{real}/".startswith(self._changed_in)
        if real in self._written_in or (is_changed and real not in self._searched):
            return real
        return real if self._counts(f"{real}/.") else ""

    def taken_into(self, folder: str) -> Iterator[str]:
        """The paths of those files that lie in a folder too: links to them, or they themselves, moved."""
        for here, _, names in os.walk(folder):
            for name in names:
                with contextlib.suppress(OSError):
                    status = os.lstat(f"{here}/{name}")
                    known = self._known.get((status.st_dev, status.st_ino))
                    if known is not None and _is_still(status, *known):
                        yield known[0]

    def _is_of_other_side(self, real: str, status: os.stat_result) -> bool:
        """Whether runs of another side wrote it; an empty file, such as a lock, tells nothing."""
        if real in self._written:
            return True
        since, until = self._changed_s
        is_new = status.st_size > 0 and since <= status.st_ctime < until
        return is_new and real.startswith(self._changed_in)

    def _counts(self, real: str) -> bool:
        if f"{real}/".startswith(self._allowed):
            return False
        if real.startswith(self._runs):
            return any(real.startswith(folder) and _is_of_a_run(real, folder) for folder in self._runs)
        return real.startswith(self._trees)

    def _files(self) -> Iterator[tuple[str, os.stat_result]]:
        """The files that are there, of runs alone: those of whole trees are known by their paths."""
        for folder in self._runs:
            for recipe in _entries(folder):
                for run in _entries(recipe.path) if not recipe.name.startswith(".") else ():
                    for found in _records_in(run.path, _DEEPEST - 1):
                        yield from self._below(os.path.realpath(found))

    def _below(self, folder: str) -> Iterator[tuple[str, os.stat_result]]:
        left = [folder]
        while left:
            here = left.pop()
            for entry in _entries(here) if not f"{here}/".startswith(self._allowed) else ():
                if entry.is_dir(follow_symlinks=False):
                    left.append(entry.path)
                elif entry.is_file(follow_symlinks=False) and not _is_below(entry.path, self._allowed):
                    try:
                        yield entry.path, entry.stat(follow_symlinks=False)
                    except OSError:
                        continue


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return list(found)
    except OSError:
        return []


def _records_in(folder: str, levels: int) -> Iterator[str]:
    """A folder that is a run or a golden, or those below it."""
    if _is_record(folder):
        yield folder
    elif levels > 1:
        for entry in _entries(folder):
            if entry.is_dir(follow_symlinks=False):
                yield from _records_in(entry.path, levels - 1)


def _is_record(folder: str) -> bool:
    return any(os.path.isfile(f"{folder}/{name}") for name in _RECORDS)  # noqa: PTH113


def _is_below(path: str, folders: tuple[str, ...]) -> bool:
    return f"{path}/".startswith(folders)


def _is_still(status: os.stat_result, path: str, mtime_ns: int) -> bool:
    """Whether it is the file that had this inode, not a new one in its place."""
    if status.st_mtime_ns == mtime_ns:
        return True
    try:
        there = os.stat(path)  # noqa: PTH116
    except OSError:
        return False
    return (there.st_dev, there.st_ino) == (status.st_dev, status.st_ino)


def _is_of_a_run(real: str, folder: str) -> bool:
    """Whether a file lies in a run or a golden; folders that begin with a dot are the tool's."""
    parts = real[len(folder) :].split("/")[:-1]
    above = ("/".join(parts[:depth]) for depth in range(2, min(len(parts), _DEEPEST) + 1))
    return not real[len(folder) :].startswith(".") and any(_is_record(f"{folder}{place}") for place in above)
