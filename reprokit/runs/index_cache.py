"""Facts read from many files, remembered in one, and read again only where a file has changed.

A stamp that does not match, or a cache that is damaged or of another version, means that files are read,
never a wrong answer. The cache is replaced as a whole: of two writers at once, one does its work again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from reprokit.errors import WorkspaceError
from reprokit.regular_file import read_regular
from reprokit.workspace import write_atomic

Facts = dict[str, Any]

#: A file that changed so shortly before it was read may change again within the same tick of the
#: file system's clock, and its stamp would not tell. (FAT's tick is the coarsest, two seconds.)
_TOO_FRESH_NS = 2_000_000_000


def facts_of(
    sources: Mapping[str, Sequence[str]],
    *,
    read: Callable[[str], tuple[Facts, bool]],
    cache: Path,
    version: int,
    now_ns: int,
) -> dict[str, Facts]:
    """The facts (JSON types) of every key, from the cache where its files are as they were.

    ``sources`` maps a key to the files and folders that its facts follow from, whether they exist or not;
    ``read`` also says whether what it read may be remembered. ``now_ns``: nanoseconds since the epoch.
    """
    known = _load(cache, version=version)
    kept: dict[str, list[Any]] = {}
    found: dict[str, Facts] = {}
    for key, paths in sources.items():
        stamp, changed_ns = _stamp(paths)
        entry = known.get(key)
        if entry is not None and entry[0] == stamp:
            kept[key], found[key] = entry, entry[1]
            continue
        found[key], lasting = read(key)
        if lasting and changed_ns + _TOO_FRESH_NS < now_ns:
            kept[key] = [stamp, found[key]]
    if len(kept) != len(known) or any(entry is not known.get(key) for key, entry in kept.items()):
        _store(cache, kept, version=version)
    return found


def _stamp(paths: Sequence[str]) -> tuple[str, int]:
    """What tells one state of some files from another, and when the youngest of them changed.

    It has the inode's last change, which no one can set back, as ``cp --preserve`` does with the content's.
    """
    parts, changed_ns = [], 0
    for path in paths:
        try:
            state = os.stat(path)  # noqa: PTH116  ten thousand Paths would cost more than their stats
        except OSError:
            parts.append("-")
            continue
        parts.append(f"{state.st_ino:x}.{state.st_size:x}.{state.st_mtime_ns:x}.{state.st_ctime_ns:x}")
        changed_ns = max(changed_ns, state.st_mtime_ns, state.st_ctime_ns)
    return " ".join(parts), changed_ns


def _load(cache: Path, *, version: int) -> dict[str, list[Any]]:
    """The entries, if the file is whole: its first line holds the version and the rest's digest."""
    try:
        head, _, body = read_regular(cache).partition(b"\n")
        if json.loads(head) != _head(body, version=version):
            return {}
        entries: dict[str, list[Any]] = json.loads(body)
    except (OSError, ValueError, RecursionError):
        return {}
    return entries


def _store(cache: Path, entries: Mapping[str, list[Any]], *, version: int) -> None:
    body = json.dumps(entries, separators=(",", ":")).encode("ascii")
    head = json.dumps(_head(body, version=version)).encode("ascii")
    with contextlib.suppress(WorkspaceError):  # a folder that may only be read is listed all the same
        write_atomic(cache, head + b"\n" + body)


def _head(body: bytes, *, version: int) -> dict[str, Any]:
    return {"version": version, "sha256": hashlib.sha256(body).hexdigest()}
