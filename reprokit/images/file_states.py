"""One digest of the sizes, times and inodes of all that lies in a folder: it moves when a file is written.

An environment has tens of thousands of files, and is looked at before and after each run. GNU ``find`` looks
at them in half of the time, and meanwhile other threads of this process continue; where it is not there, or
fails, Python comes to the same digest.
"""

from __future__ import annotations

import hashlib
import os
import stat
import subprocess
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from reprokit.file_tree import statuses

_FIND = "/usr/bin/find"  # never another one that comes first on someone's PATH
#: Of a file its name, type, permissions, size, the times of its content and of its status, its inode; of a
#: folder no size, which depends on the file system's habits.
_OF_FILE, _OF_FOLDER = r"%P\0%y %m %s %T@ %C@ %i\0", r"%P\0%y %m 0 %T@ %C@ %i\0"
#: `find` writes ten digits after the second, of which the last is 0.
_DIGITS = 10
_TYPES = {stat.S_IFREG: "f", stat.S_IFDIR: "d", stat.S_IFLNK: "l", stat.S_IFIFO: "p", stat.S_IFSOCK: "s"}
_TYPES |= {stat.S_IFBLK: "b", stat.S_IFCHR: "c"}


def state_of(
    folder: Path, *, but: Collection[str] = (), leave_out: Collection[str] = (), folders: bool = True
) -> str:
    """``sha256:<64 hex digits>`` of what changes when a file is written, added or removed.

    A change time cannot be set back: a file that was written and put back is seen too.

    Args:
        folder: Where to look; no link is followed.
        but: Names directly in it that are left out.
        leave_out: Names that are left out wherever they are, with what is below them.
        folders: Whether folders count, or only what lies in them.

    Raises:
        OSError: A folder cannot be read, or something went away meanwhile.
    """
    found = _by_find(folder, leave_out=leave_out)
    if found is None:
        found = dict(_by_python(folder, leave_out=leave_out))
    sha = hashlib.sha256()
    left_out = {os.fsencode(name) for name in but}
    for name in sorted(found):
        if name not in left_out and (folders or not found[name].startswith(b"d ")):
            sha.update(b"%b\0%b\n" % (name, found[name]))
    return f"sha256:{sha.hexdigest()}"


def _by_find(folder: Path, *, leave_out: Collection[str]) -> Mapping[bytes, bytes] | None:
    """Name → state; None where `find` cannot say it."""
    apart = [word for name in sorted(leave_out) for word in ("-name", name, "-prune", "-o")]
    words = [_FIND, "-P", os.path.join(folder, ""), "-mindepth", "1", *apart]  # noqa: PTH118 (a link's target)
    try:
        done = subprocess.run(
            [*words, "(", "-type", "d", "-printf", _OF_FOLDER, "-o", "-printf", _OF_FILE, ")"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={"LC_ALL": "C"},
            check=False,
        )
    except OSError:
        return None
    parts = done.stdout.split(b"\0")
    if done.returncode or len(parts) % 2 == 0:
        return None
    return dict(zip(parts[::2], parts[1::2], strict=False))


def _by_python(folder: Path, *, leave_out: Collection[str]) -> Iterator[tuple[bytes, bytes]]:
    for name, one in statuses(folder, leave_out=leave_out).items():
        kind = _TYPES[stat.S_IFMT(one.st_mode)]
        size = 0 if kind == "d" else one.st_size
        times = f"{_seconds(one.st_mtime_ns)} {_seconds(one.st_ctime_ns)}"
        text = f"{kind} {stat.S_IMODE(one.st_mode):o} {size} {times} {one.st_ino}"
        yield os.fsencode(name), text.encode()


def _seconds(nanoseconds: int) -> str:
    seconds, rest = divmod(nanoseconds, 10**9)
    return f"{seconds}.{rest:09d}".ljust(len(f"{seconds}.") + _DIGITS, "0")
