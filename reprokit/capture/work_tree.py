"""Which files of a work tree are not as its commit has them, by their content alone.

No index, no time stamp, no filter and no list of exclusions but the commit's own ``.gitignore`` files comes
between. A file that these leave out counts all the same where it is code next to code of the commit: it is
imported like any other.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath

from reprokit.capture.git_objects import (
    EXECUTABLE,
    LINK,
    SUBMODULE,
    Repository,
    TreeEntry,
    digest_of,
    find_repository,
    head,
    new_digest,
    objects,
)
from reprokit.capture.ignore_rules import IgnoreRules
from reprokit.capture.large_files import POINTER

_MAX_SUBMODULES_DEEP = 16
_CODE = frozenset({".py", ".pyc", ".pyo", ".pyd", ".pyx", ".so", ".pth"})
# Left by editors and tools, and not read by a training: these need no .gitignore, unless they are code.
_LEFTOVERS = frozenset(
    {".hypothesis", ".idea", ".ipynb_checkpoints", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".vscode"}
)
#: What tools put into a virtual environment.
_OF_ENVIRONMENTS = frozenset(
    {"pyvenv.cfg", "bin", "lib", "lib64", "include", "share", "Scripts", "Lib", "Include", ".gitignore"}
    | {".lock", "CACHEDIR.TAG"}
)
_COUNTS, _LEFTOVER, _LEFT_OUT = "counts", "leftover", "left out"
#: No blob of git's is larger in practice, and a sparse file would be read for hours.
_MAX_BLOB_BYTES = 2 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeComparison:
    """A work tree compared with its commit.

    Attributes:
        commit: The commit's full name; "" before the first.
        changed: Paths from the root that are not as in the commit, sorted; a submodule is one path.
        submodules: Path of each changed submodule → its commit and what of it is changed.
    """

    commit: str
    changed: tuple[str, ...]
    submodules: Mapping[str, str]


def compare(
    repository: Repository,
    *,
    within: str = "",
    apart_from: tuple[str, ...] = (),
    only: tuple[str, ...] = (),
    depth: int = 0,
) -> TreeComparison:
    """Compare every file of a work tree with HEAD.

    Only what lies below ``within`` counts, and in ``apart_from`` (folders from the root that end in ``/``)
    only what the commit has: results that lie there are no change, code that is imported from there is.
    Where ``only`` names files and folders, each with a ``/`` at its end, no other file of the commit need be
    there.

    Raises:
        GitError: The repository cannot be read.
        OSError: A file cannot be read.
    """
    root = repository.root
    if root is None:
        raise ValueError("a repository without a work tree")
    commit, entries = head(repository)
    submodules: dict[str, str] = {}
    differing = {}
    for path, entry in entries.items():
        if not path.startswith(within) or (only and not f"{path}/".startswith(only)):
            continue
        if entry.mode == SUBMODULE:
            state = _submodule(root / path, entry, depth=depth)
            if state:
                submodules[path] = state
        elif not _same(root / path, entry):
            differing[path] = entry
    changed = {path for path in differing if not _is_large_file(repository, root / path, differing[path])}
    rules = IgnoreRules(_ignore_files(repository, entries))
    added = _not_in_commit(root, entries, rules, within=within, apart_from=apart_from)
    return TreeComparison(
        commit=commit,
        changed=tuple(sorted({*changed, *submodules, *added})),
        submodules=submodules,
    )


def object_of(path: Path, status: os.stat_result, *, like: str) -> str:
    """What git would call the content of a file or link as it lies there."""
    if stat.S_ISLNK(status.st_mode):
        target = os.readlink(os.fsencode(path))  # noqa: PTH115 - a Path has no `./a`, `a//b` and `data/`
        return digest_of(target, kind="blob", like=like)
    with path.open("rb") as stream:
        begun = partial(new_digest, kind="blob", size=status.st_size, like=like)
        return hashlib.file_digest(stream, begun).hexdigest()


def _same(path: Path, entry: TreeEntry) -> bool:
    try:
        status = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    if entry.mode == LINK:
        right = stat.S_ISLNK(status.st_mode)
    else:
        executable = bool(status.st_mode & stat.S_IXUSR)
        right = stat.S_ISREG(status.st_mode) and executable == (entry.mode == EXECUTABLE)
    right = right and status.st_size <= _MAX_BLOB_BYTES
    return right and object_of(path, status, like=entry.oid) == entry.oid


def _is_large_file(repository: Repository, path: Path, entry: TreeEntry) -> bool:
    """Whether the commit names the file's SHA-256 instead of holding its content (git-lfs)."""
    try:
        status = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    executable = bool(status.st_mode & stat.S_IXUSR)
    if not stat.S_ISREG(status.st_mode) or executable != (entry.mode == EXECUTABLE):
        return False
    pointer = POINTER.fullmatch(objects(repository, [entry.oid])[entry.oid])
    if pointer is None or int(pointer[2]) != status.st_size:
        return False
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest() == pointer[1].decode()


def _submodule(folder: Path, entry: TreeEntry, *, depth: int) -> str:
    """What is not as the commit says of a submodule; "" for none, or where it was never fetched."""
    if folder.is_symlink() or not folder.is_dir():
        return "not a folder"
    if not any(folder.iterdir()):
        return ""
    inner = find_repository(folder)
    if inner is None or inner.root != folder.resolve() or depth >= _MAX_SUBMODULES_DEEP:
        return "files without a repository"
    found = compare(inner, depth=depth + 1)
    if found.commit == entry.oid and not found.changed:
        return ""
    content = ((name, _state(folder / name, found, name, like=entry.oid)) for name in found.changed)
    return f"{found.commit} {' '.join(f'{name} {state}' for name, state in content)}".strip()


def _state(path: Path, found: TreeComparison, name: str, *, like: str) -> str:
    try:
        return found.submodules.get(name) or object_of(path, path.lstat(), like=like)
    except OSError:
        return "deleted"


def _ignore_files(repository: Repository, entries: Mapping[str, TreeEntry]) -> dict[str, str]:
    named = {path: entry.oid for path, entry in entries.items() if PurePosixPath(path).name == ".gitignore"}
    texts = objects(repository, sorted(set(named.values())))
    return {
        path.rpartition("/")[0]: texts[oid].decode("utf-8", "surrogateescape") for path, oid in named.items()
    }


def _not_in_commit(
    root: Path,
    entries: Mapping[str, TreeEntry],
    rules: IgnoreRules,
    *,
    within: str,
    apart_from: tuple[str, ...],
) -> Iterator[str]:
    """Files that the commit does not have and does not leave out, and code that lies next to its code."""
    known = {folder.as_posix() for path in entries for folder in PurePosixPath(path).parents}
    with_code = {path.rpartition("/")[0] for path in entries if PurePosixPath(path).suffix in _CODE}
    importable: set[str] = set()
    left = [(within.rstrip("/"), _COUNTS)]
    while left:
        folder, standing = left.pop()
        for name, is_folder in _children(root / folder, own=not folder or folder in known):
            path = f"{folder}/{name}".lstrip("/")
            if f"{path}/".startswith(apart_from) or (path in entries and not is_folder):
                continue
            left_out = standing is _LEFT_OUT or rules.leaves_out(path, is_folder=is_folder)
            of_child = _LEFT_OUT if left_out else standing
            if not is_folder:
                imported = not left_out or folder in with_code or folder in importable
                if of_child is _COUNTS or (imported and _is_code(root / path)):
                    yield path
            elif path not in entries and (path in known or not left_out or folder in with_code):
                if left_out and path not in known:
                    importable.add(path)  # `import folder.module` finds what lies in it
                left.append((path, _LEFTOVER if name in _LEFTOVERS and not left_out else of_child))


def _is_code(path: Path) -> bool:
    """Whether Python could import it: a file of code, or a link to a folder, which may hold some."""
    return path.suffix in _CODE or (path.is_symlink() and path.is_dir())


def _children(folder: Path, *, own: bool) -> list[tuple[str, bool]]:
    """Name and whether a folder, of what may count; what an environment holds, only in an ``own`` folder."""
    with os.scandir(folder) as found:
        children = [(child.name, child.is_dir(follow_symlinks=False)) for child in found]
    if not own and ("pyvenv.cfg", False) in children:
        children = [one for one in children if one[0] not in _OF_ENVIRONMENTS]
    compiled = folder.name == "__pycache__"
    return [one for one in children if one[0] != ".git" and not (compiled and one[0].endswith(".pyc"))]
