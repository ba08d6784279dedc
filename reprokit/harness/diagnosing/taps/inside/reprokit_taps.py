"""Inside a program: what the counters of the preloaded taps say before and after each call that is kept.

The hook's recorder makes a ``Call`` when a watched call begins and asks ``ended`` for it when it ends. There
the table is read, which the process shares with the library. What moved is one line of JSON a call.
"""

from __future__ import annotations

import io
import json
import mmap
import os
import struct
from typing import Any

#: As ``taps.c`` lays it out.
_HEAD, _OBJECT, _PATH = 256, 256, 192
_OBJECTS_AT, _ALIVE_AT = 32, 40
_COUNTERS = ("draws", "bytes", "clocks", "threads", "locks")
#: So many calls of a site are told of.
_MOST = 100
_open = io.open  # as it was before the program changed it


class Table:
    """The counters of this process; a forked child has its own."""

    def __init__(self) -> None:
        self._find()
        os.register_at_fork(after_in_child=self._find)

    def _find(self) -> None:
        """The last file of counters that is in this process's memory."""
        self._memory: mmap.mmap | None = None
        folder = os.path.realpath(os.environ["REPROKIT_TAPS"])
        try:
            with _open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as stream:
                paths = [line.rstrip("\n").split(None, 5)[-1] for line in stream if "/taps-" in line]
            paths = [path for path in paths if os.path.dirname(path) == folder and path.endswith(".bin")]
            with _open(paths[-1], "r+b") as stream:
                self._memory = mmap.mmap(stream.fileno(), 0)
        except (OSError, IndexError, ValueError):  # not loaded here: nothing is known of this process
            pass

    def counts(self) -> list[tuple[int, ...]] | None:
        """Of each object the counters; None where the taps were not loaded."""
        memory = self._memory
        if memory is None:
            return None
        (number,) = struct.unpack_from("<Q", memory, _OBJECTS_AT)
        return [struct.unpack_from("<5Q", memory, _HEAD + _OBJECT * one + _PATH + 8) for one in range(number)]

    def moved(self, before: list[tuple[int, ...]]) -> dict[str, dict[str, int]]:
        """What went up since: object → counter → by how much; without what Python's own code asked for."""
        found: dict[str, dict[str, int]] = {}
        memory = self._memory
        if memory is None:
            return found
        for number, now in enumerate(self.counts() or []):
            earlier = before[number] if number < len(before) else (0, 0, 0, 0, 0)
            name, is_python = struct.unpack_from("<192sQ", memory, _HEAD + _OBJECT * number)
            path = name.split(b"\0")[0].decode("utf-8", "replace")
            if now != earlier and not is_python:
                found[path] = {
                    name: two - one for name, one, two in zip(_COUNTERS, earlier, now) if two != one
                }
        return found

    def watch_threads(self) -> None:
        """From now on, the most threads that are alive at once are counted from zero."""
        if self._memory is not None:
            (alive,) = struct.unpack_from("<Q", self._memory, _ALIVE_AT)
            struct.pack_into("<Q", self._memory, _ALIVE_AT + 8, alive)

    def most_threads(self) -> int:
        return 0 if self._memory is None else int(struct.unpack_from("<Q", self._memory, _ALIVE_AT + 8)[0])


def start() -> None:
    """From now on, read the table around each call whose results are kept."""
    from reprokit_hook import current  # type: ignore[import-not-found, unused-ignore]
    from reprokit_hook.calls import substitution  # type: ignore[import-not-found, unused-ignore]

    watch = current()
    if watch is None:  # its folder is gone; the program continues
        return
    table = Table()
    _tell(watch, {"is_loaded": table.counts() is not None})
    told: dict[str, int] = {}
    began, ended = substitution.Call, substitution.ended

    class Tapped(began):  # type: ignore[misc, valid-type, unused-ignore]
        __slots__ = ("counts",)

        def __init__(self, *words: Any) -> None:
            super().__init__(*words)
            self.counts = table.counts()
            table.watch_threads()

    def noted(calls: Any, site: str, frame: int) -> Any:
        call = ended(calls, site, frame)
        if call is not None and call.counts is not None:
            moved = table.moved(call.counts)
            told[site] = told.get(site, 0) + 1
            if moved and told[site] <= _MOST:
                _tell(watch, {"site": site, "moved": moved, "most_threads": table.most_threads()})
        return call

    substitution.Call, substitution.ended = Tapped, noted


def _tell(watch: Any, record: dict[str, Any]) -> None:
    path = os.path.join(watch.out, "taps-" + watch.process + ".jsonl")
    try:
        with _open(path, "a", encoding="utf-8") as stream:
            stream.write(json.dumps(record) + "\n")
    except OSError:  # the folder is gone; the program continues
        pass
