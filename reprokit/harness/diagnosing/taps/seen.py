"""What the taps of a run counted: inside a call, in all of it, and in which programs they were not loaded."""

from __future__ import annotations

import contextlib
import json
import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from reprokit.core.verdicts.rows import counted
from reprokit.harness.diagnosing.conditions import InstrumentedRun
from reprokit.harness.diagnosing.taps.preloaded import TABLES

#: As ``taps.c`` lays a table out.
_MAGIC, _HEAD, _OBJECT, _PATH = b"RPKTAPS1", 256, 256, 192
_GAVE_UP = 88


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What compiled code of one shared object asked for.

    Attributes:
        name: Of the object's file.
        draws: How often it drew entropy.
        bytes: How much.
        clocks: How often it read a clock.
        threads: How many it started.
        locks: How often it took a lock.
        order: Digest of which threads took its locks where, and in which order.
        most: How many threads of the process were alive at once, the main one too; 0 where not counted.
    """

    name: str
    draws: int = 0
    bytes: int = 0
    clocks: int = 0
    threads: int = 0
    locks: int = 0
    order: int = 0
    most: int = 0

    @property
    def kinds(self) -> frozenset[str]:
        """Of ``entropy``, ``clock``, ``threads`` and, between these, ``locks`` those that it asked for."""
        found = {"entropy": self.draws, "clock": self.clocks, "threads": self.threads}
        found["locks"] = self.locks if self.threads else 0
        return frozenset(kind for kind, count in found.items() if count)


def asked_around(ran: InstrumentedRun, site: str) -> tuple[Asked, ...]:
    """What objects asked for inside the calls of a line, in all processes that were seen."""
    found = []
    for record in _told(ran):
        if record.get("site") == site:
            most = int(record.get("most_threads", 0))
            found += [Asked(name=Path(path).name, most=most, **one) for path, one in record["moved"].items()]
    return _joined(found)


def asked_in(ran: InstrumentedRun) -> tuple[Asked, ...]:
    """What objects other than Python asked for in all of a run."""
    return _joined(one for table in _tables(ran) for one in _objects(table))


def not_seen(ran: InstrumentedRun) -> tuple[str, ...]:
    """The programs of a run in which the taps were not loaded, and Python where it was one of these."""
    began: dict[int, list[int]] = {}
    for table in _tables(ran):
        pid, ns, was_forked = struct.unpack_from("<3Q", table, len(_MAGIC))
        if not was_forked:
            began.setdefault(pid, []).append(ns)
    found = {
        path.read_text(encoding="utf-8", errors="replace")
        for path in _files(ran, "program-*-*")
        for pid, ns in [map(int, path.name.split("-")[1:])]
        if not any(one >= ns for one in began.get(pid, ()))
    }
    if not began or any(record.get("is_loaded") is False for record in _told(ran)):
        found.add("Python")
    return tuple(sorted(found))


def gave_up(ran: InstrumentedRun) -> bool:
    """Whether a process held the order of its locks no longer, since its threads waited too long for it."""
    return any(struct.unpack_from("<Q", table, _GAVE_UP)[0] for table in _tables(ran))


def sentence(asked: Iterable[Asked]) -> str:
    """What was asked for, in words.

    >>> sentence([Asked(name="tokenizers.abi3.so", draws=2, bytes=80, threads=2)])
    'tokenizers.abi3.so drew 80 bytes of entropy and started 2 threads'
    """
    return "; ".join(f"{one.name} {_all_of(_words(one))}" for one in asked)


def _words(one: Asked) -> list[str]:
    found = []
    if one.draws:
        found.append(f"drew {counted(one.bytes, 'byte')} of entropy")
    if one.clocks:
        found.append(f"read a clock {counted(one.clocks, 'time')}")
    if one.threads:
        alive = f" ({one.most} alive at once)" if one.most > one.threads + 1 else ""
        found.append(f"started {counted(one.threads, 'thread')}{alive}")
    if one.locks and (
        one.threads or not found
    ):  # of interest beside threads, else only where nothing else is
        found.append(f"took {counted(one.locks, 'lock')}")
    return found


def _all_of(words: list[str]) -> str:
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last


def _joined(found: Iterable[Asked]) -> tuple[Asked, ...]:
    """One for each object, the one that drew most first."""
    names: dict[str, list[Asked]] = {}
    for one in found:
        names.setdefault(one.name, []).append(one)
    joined = [
        Asked(
            name=name,
            draws=sum(one.draws for one in some),
            bytes=sum(one.bytes for one in some),
            clocks=sum(one.clocks for one in some),
            threads=sum(one.threads for one in some),
            locks=sum(one.locks for one in some),
            order=sum(one.order for one in some),
            most=max(one.most for one in some),
        )
        for name, some in names.items()
    ]
    return tuple(sorted(joined, key=lambda one: (-one.bytes, -one.threads, -one.clocks, one.name)))


def _objects(table: bytes) -> Iterator[Asked]:
    (number,) = struct.unpack_from("<Q", table, 32)
    for at in range(_HEAD, _HEAD + _OBJECT * number, _OBJECT):
        path, is_python, *counts = struct.unpack_from(f"<{_PATH}s7Q", table, at)
        if not is_python and any(counts[:4]):
            name = Path(path.split(b"\0")[0].decode("utf-8", "replace")).name
            draws, size, clocks, threads, locks, order = counts
            found = Asked(name=name, draws=draws, bytes=size, clocks=clocks, threads=threads)
            yield replace(found, locks=locks, order=order)


def _tables(ran: InstrumentedRun) -> list[bytes]:
    """Those that are whole: the program can write there too, and a process may have ended before."""
    found = [path.read_bytes() for path in _files(ran, "taps-*.bin")]
    return [table for table in found if table.startswith(_MAGIC) and _is_whole(table)]


def _is_whole(table: bytes) -> bool:
    if len(table) < _HEAD:
        return False
    return len(table) >= _HEAD + _OBJECT * int(struct.unpack_from("<Q", table, 32)[0])


def _told(ran: InstrumentedRun) -> Iterator[Mapping[str, Any]]:
    for path in _files(ran, "taps-*.jsonl"):
        for line in path.read_text(encoding="utf-8").splitlines():
            with contextlib.suppress(ValueError):  # cut off: its process was killed
                yield json.loads(line)


def _files(ran: InstrumentedRun, pattern: str) -> list[Path]:
    """Tables lie next to the output; those of a container, and what the hook tells, in the hook's folder."""
    return sorted(path for folder in (ran.folder / TABLES, ran.traced) for path in folder.glob(pattern))
