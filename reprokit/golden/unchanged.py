"""Whether the files of goldens stayed as they were while programs ran that could have written to them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from reprokit.errors import GoldenError

#: What the kernel says of a file. A program can set the time of the contents, not that of a change.
State = tuple[int, ...]  # node, size, time of the contents, time of a change


def states(folder: Path) -> Mapping[str, State]:
    """The state of each file below a folder of goldens, links followed; empty where there is none."""
    return {str(path): state for path in _files(folder, ()) if (state := _state(path)) is not None}


def must_be_unchanged(folder: Path, before: Mapping[str, State]) -> None:
    """Refuse goldens that were written, added or removed since they had these states.

    Raises:
        GoldenError: A file is not as it was: what was run may have written what it is compared with.
    """
    now = states(folder)
    changed = sorted(name for name in {*before, *now} if before.get(name) != now.get(name))
    if changed:
        others = len(changed) - 1
        more = f" (and {others} more)" if others else ""
        raise GoldenError(
            f"the file{more} was written, added or removed while runs were under way: it compares nothing",
            where=changed[0],
            fix="restore it with git, let no program write to the goldens, and run again",
        )


def _files(folder: Path, above: tuple[Path, ...]) -> Iterator[Path]:
    real = folder.resolve()
    if real in above or not folder.is_dir():
        return
    for entry in sorted(folder.iterdir()):
        if entry.is_dir():
            yield from _files(entry, (*above, real))
        else:
            yield entry


def _state(path: Path) -> State | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
