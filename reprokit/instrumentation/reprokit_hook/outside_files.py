"""Files outside the run's own folder that the program reads and writes: what one run leaves to the next.

Before a file is written for the first time a copy is kept, so that it can be restored.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from typing import Any

from .frames import is_own, own_reader, real
from .trace_writer import quiet
from .watch import Watch

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_MOST_BYTES = 64 << 20
_NEVER = ("/dev/", "/proc/", "/sys/")


def watch(watch: Watch) -> None:
    """Listen to what Python says of files: PEP 578."""

    def heard(event: str, args: tuple[Any, ...]) -> None:
        if event == "open" or event in _OTHERS:
            if getattr(watch.busy, "quiet", False):
                return
            with quiet(watch), contextlib.suppress(Exception):  # the program must not end by it
                _heard(event, args, watch)

    sys.addaudithook(heard)


_OTHERS = {
    "os.remove": (0,),
    "os.rename": (0, 1),
    "os.mkdir": (0,),
    "os.truncate": (0,),
    "sqlite3.connect": (0,),
    "shutil.rmtree": (0,),
}


def _heard(event: str, args: tuple[Any, ...], watch: Watch) -> None:
    if event != "open":
        for index in _OTHERS[event]:
            _touched(args[index], watch, writes=True, reads=event == "sqlite3.connect")
        return
    path, mode, flags = args[:3]
    writes = (
        bool(flags & _WRITING)
        if mode is None and isinstance(flags, int)
        else any(letter in (mode or "") for letter in "wax+")
    )
    _touched(path, watch, writes=writes, reads=not writes or "+" in (mode or "") or "a" in (mode or ""))


def written(path: Any, watch: Watch) -> None:
    """A library is about to write a file without Python's knowledge; called from what stands in its place."""
    with quiet(watch), contextlib.suppress(Exception):  # the program must not end by it
        _touched(path, watch, writes=True, reads=False)


def _touched(path: Any, watch: Watch, *, writes: bool, reads: bool) -> None:
    if not isinstance(path, (str, bytes, os.PathLike)):
        return
    name = os.path.abspath(os.fsdecode(path))
    own = (watch.out, watch.output or watch.out)
    if (
        name in own
        or name.startswith((*(one + os.sep for one in own), *_NEVER))
        or name.endswith((".py", ".pyc"))
    ):
        return
    frame = own_reader(4)
    if frame is None or not is_own(frame.f_code.co_filename) or "site-packages" in name:
        return
    record = watch.files.setdefault(name, {})
    place = [real(frame.f_code.co_filename), frame.f_lineno, frame.f_code.co_name]
    if reads and "read" not in record:
        record["read"] = place
        record["read_after_write"] = "written" in record
    if writes and "written" not in record:
        record["written"] = place
        record["existed"] = os.path.lexists(name)
        record["folder"] = os.path.isdir(name)
        _keep(name, record, watch)


def _keep(name: str, record: dict[str, Any], watch: Watch) -> None:
    if not os.path.isfile(name) or os.path.getsize(name) > _MOST_BYTES:
        return
    kept = os.path.join(watch.out, f"kept-{watch.process}-{len(watch.files)}")
    shutil.copy2(name, kept)
    record["kept"] = kept


def queried(database: Any, place: tuple[str, int, str], watch: Watch) -> None:
    """A connection or cursor of ``sqlite3`` is asked: here, not where it was opened, a file is read."""
    sqlite3 = sys.modules.get("sqlite3")
    if sqlite3 is None or not isinstance(database, (sqlite3.Connection, sqlite3.Cursor)):
        return
    connection = getattr(database, "connection", database)
    for _, _, name in connection.execute("PRAGMA database_list"):
        record = watch.files.get(name, {})
        if "read" in record and not record.get("queried"):
            record["read"], record["queried"] = list(place), True
