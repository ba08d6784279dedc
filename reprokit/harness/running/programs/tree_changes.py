"""What one run leaves in the folders that the next one starts in, where it could be read.

Files are told apart by size, time of change and place on the disk, not read. Byte-code that Python
keeps next to a source, as that stands, is no change.
"""

from __future__ import annotations

import os
import re
import stat
import struct
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import MAGIC_NUMBER, source_hash
from itertools import islice
from pathlib import Path

from reprokit.layout import SWEEPS

_MOST_ENTRIES = 200_000
#: A larger folder behind a link is not looked at: data, of which most programs only read.
_MOST_LINKED = 10_000
#: Behind a link, what changes by itself; and where other programs write.
_OF_OTHERS = ("/proc", "/sys", "/dev", "/run")
_OF_ALL = ("/tmp", "/var/tmp", "~")  # noqa: S108 - named, not written to
_LISTED = 100
_GIT = ".git"
#: Of git itself: what `git status` writes, and objects, which nothing finds without a reference.
_WRITTEN_BY_GIT = re.compile(r"index(?:\.lock)?")
_LOCK_OF_GIT = "index.lock"
_OBJECTS, _OBJECTS_OF_GIT = "objects", re.compile(r"[0-9a-f]{2}|pack|tmp_.*|maintenance\.lock")
_NOTHING = re.compile(r"(?!)")
_BYTE_CODE = "__pycache__"
#: How the name of each of our run and report folders begins; they lie one level below a recipe's name.
_OURS = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{4}")
_HEADER = struct.Struct("<IIII")  # magic, flags, the source's time, its size; PEP 552
#: What we keep next to them.
_BESIDE_RUNS = (".index.json", ".lock", ".machines", ".pruned")

#: Path → what its file is told apart by; of a folder nothing.
_Seen = Mapping[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """The folders that a plain command can write to without being told to: its own, and its program's.

    Attributes:
        roots: The work tree around the working folder, or that folder; the folders of files on the command
            line that lie elsewhere.
        kept: Our folders of runs and reports: what we write there is left out, what a program does is not.
    """

    roots: tuple[Path, ...]
    kept: frozenset[str] = field(default_factory=frozenset)

    @classmethod
    def of(cls, command: Sequence[str], *, working_dir: Path, kept: Collection[Path]) -> Tree:
        here = working_dir.resolve()
        top = work_tree_of(here)
        named = (here / word for word in command[1:] if len(word) < os.pathconf("/", "PC_NAME_MAX"))
        folders = [path.resolve().parent for path in named if path.is_file()]
        elsewhere = [folder for folder in dict.fromkeys(folders) if not folder.is_relative_to(top)]
        return cls(roots=(top, *elsewhere), kept=frozenset(str(one.resolve()) for one in kept))

    def look(self) -> _Seen | None:
        """Every file and folder; None where there are more than can be looked at."""
        found = dict(islice(self._entries(), _MOST_ENTRIES + 1))
        return None if len(found) > _MOST_ENTRIES else found

    def changes(self, before: _Seen | None) -> dict[str, object]:
        """What became of the files since: a key of ``run.json``.

        Returns:
            ``left_by_earlier_runs``: path → ``appeared``, ``written`` or ``removed``, paths below the first
            root from there; ``tree_unknown``, why it is not known, where it is not.
        """
        now = self.look()
        if before is None or now is None:
            return {"tree_unknown": f"its folders hold more than {_MOST_ENTRIES:,} files and folders"}
        told = dict(sorted(self._told(before, now)))
        listed = dict(islice(told.items(), _LISTED))
        if len(told) > _LISTED:
            listed[f"… and {len(told) - _LISTED:,} more"] = "only so many are listed"
        return {"left_by_earlier_runs": listed}

    def written(self, before: _Seen | None) -> frozenset[str]:
        """The full paths of what appeared or was written since; nothing where that is not known."""
        now = self.look()
        if before is None or now is None:
            return frozenset()
        told = self._told(before, now)
        return frozenset(str(self.roots[0] / path) for path, how in told if how != "removed")

    def tells(self, path: str) -> bool:
        """Whether ``changes`` names a file where a run changes it: none of ours, and no lock of git's."""
        root = next((root for root in self.roots if path.startswith(f"{root}/")), None)
        if root is None:
            return False
        place = root
        for name in Path(path).relative_to(root).parts:
            if self._is_ours(str(place), name) or (place.name == _GIT and name == _LOCK_OF_GIT):
                return False
            place /= name
        return True

    def _told(self, before: _Seen, now: _Seen) -> Iterator[tuple[str, str]]:
        files = {path for path in {*before, *now} if before.get(path) != now.get(path)}
        files = {path for path in files if not _is_byte_code(path)}
        for path in files:
            is_folder = not (now.get(path) or before.get(path))
            if is_folder and any(other.startswith(f"{path}/") for other in files):
                continue  # what is in it tells it
            how = "appeared" if path not in before else "removed" if path not in now else "written"
            name = os.path.relpath(path, self.roots[0])
            yield (path if name.startswith("..") else name), how

    def _entries(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        links: list[str] = []
        yield from self._below([str(root) for root in self.roots], links)
        seen = [*self.roots, *map(Path, (*self.kept, *_OF_OTHERS))]
        of_all = {os.path.expanduser(one) for one in _OF_ALL}  # noqa: PTH111 - without HOME it stays
        while links:
            target = Path(os.path.realpath(links.pop()))
            around = str(target) in of_all or any(one.is_relative_to(target) for one in self.roots)
            if around or any(target.is_relative_to(one) for one in seen) or not target.is_dir():
                continue
            seen.append(target)
            found = list(islice(self._below([str(target)], links), _MOST_LINKED + 1))
            yield from found if len(found) <= _MOST_LINKED else ()

    def _below(self, waiting: list[str], links: list[str]) -> Iterator[tuple[str, tuple[int, ...]]]:
        """Every file and folder below some; the links among them go to ``links``, too."""
        while waiting:
            folder = waiting.pop()
            of_git = _written_by_git(Path(folder))
            try:
                with os.scandir(folder) as found:
                    inside = list(found)
            except OSError:  # it went away, or no one may read it
                continue
            for one in inside:
                if of_git.fullmatch(one.name) or self._is_ours(folder, one.name):
                    continue
                try:
                    told = one.stat(follow_symlinks=False)
                except OSError:
                    continue
                if stat.S_ISDIR(told.st_mode):
                    waiting.append(one.path)
                    if one.name != _BYTE_CODE and one.path not in self.kept and folder not in self.kept:
                        yield one.path, ()
                elif stat.S_ISLNK(told.st_mode):
                    links.append(one.path)
                    yield one.path, (*_told_apart_by(told), *self._of_target(one.path))
                else:
                    yield one.path, _told_apart_by(told)

    def _of_target(self, link: str) -> tuple[int, ...]:
        """What the file is told apart by that a link names, where that is not looked at itself."""
        target = Path(os.path.realpath(link))
        if any(target.is_relative_to(root) for root in self.roots):
            return ()
        try:
            told = target.stat()
        except OSError:
            return ()
        return _told_apart_by(told) if stat.S_ISREG(told.st_mode) else ()

    def _is_ours(self, folder: str, name: str) -> bool:
        """Whether we wrote an entry of a folder: a run, a report, sweeps, or what we keep next to them."""
        if folder in self.kept:
            return name == SWEEPS or name.startswith(_BESIDE_RUNS)
        return str(Path(folder).parent) in self.kept and _OURS.match(name) is not None


def _told_apart_by(told: os.stat_result) -> tuple[int, ...]:
    return told.st_size, told.st_mtime_ns, told.st_ctime_ns, told.st_ino


def _written_by_git(folder: Path) -> re.Pattern[str]:
    """Which entries of a folder git itself writes on its way."""
    if folder.name == _GIT:
        return _WRITTEN_BY_GIT
    return _OBJECTS_OF_GIT if folder.name == _OBJECTS and folder.parent.name == _GIT else _NOTHING


def work_tree_of(working_dir: Path) -> Path:
    """The work tree of git around a folder; that folder where there is none."""
    here = working_dir.resolve()
    return next((folder for folder in (here, *here.parents) if (folder / _GIT).exists()), here)


def _is_byte_code(path: str) -> bool:
    """Whether a file is what Python keeps of the source next to it, as that stands now."""
    file = Path(path)
    if file.parent.name != _BYTE_CODE:
        return False
    if not file.exists():  # one that Python replaced, or that was made while it was looked at
        return True
    source = file.parent.parent / f"{file.name.partition('.')[0]}.py"
    try:
        told = source.stat()
        with file.open("rb") as stream:
            header = stream.read(_HEADER.size)
        _, flags, changed, size = _HEADER.unpack(header)
        if flags & 1:  # by the hash of its source, which only the Python that wrote it can compute
            is_ours = header.startswith(MAGIC_NUMBER)
            return is_ours and source_hash(source.read_bytes()) == header[_HEADER.size // 2 :]
    except (OSError, struct.error):
        return False
    return (changed, size) == tuple(int(one) % 2**32 for one in (told.st_mtime, told.st_size))
