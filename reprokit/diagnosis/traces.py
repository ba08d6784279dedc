"""The hook's traces of a run: call sites that no seed governs, and files outside the run's folder."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reprokit.errors import CannotJudgeError


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A line of the program that used something that a seed does not govern.

    Attributes:
        kind: The hook's word for it: ``clock``, ``unseeded``, ``set_order``, …
        what: What was called, where the hook knows it.
        count: How often.
        digest: Of all values, in order, by context.
        first: Its rank among the sites of its process.
        overwritten: Whether all that it drew was overwritten before anything was seen to read it.
        processes: In which processes: ``0`` is the first one.
    """

    kind: str
    file: str
    line: int
    function: str
    what: str
    count: int
    digest: str
    first: int
    overwritten: bool = False
    processes: tuple[str, ...] = ("0",)


@dataclass(frozen=True, slots=True, kw_only=True)
class OutsideFile:
    """A file outside the run's folder that the program wrote or read.

    Attributes:
        written: File, line and function of the first write, or None.
        read: The same of the first read, or None.
        read_after_write: Whether the run had written it before it read it.
        kept: A copy of it as it was before, or None.
    """

    path: str
    written: tuple[str, int, str] | None
    read: tuple[str, int, str] | None
    read_after_write: bool
    existed: bool
    folder: bool
    kept: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HookTrace:
    """Everything that the hook left of a run, its processes taken together.

    Attributes:
        progress: Process → what the hook left of its training: counts, schedule, events.
        scripts: What was done in environments, where that was asked for.
    """

    sites: Mapping[str, Site]
    files: Mapping[str, OutsideFile]
    processes: int
    started: int
    facts: Mapping[str, Any] = field(default_factory=dict)
    progress: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    scripts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @classmethod
    def empty(cls) -> HookTrace:
        """Of a run that was stopped before its processes could leave any."""
        return cls(sites={}, files={}, processes=0, started=0)


def read_trace(folder: Path) -> HookTrace:
    """The traces of all processes of a run, from the folder that the hook wrote.

    Raises:
        CannotJudgeError: One is not as the hook writes it: the program could write there too.
    """
    try:
        return _joined(folder)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError, OverflowError) as error:
        raise _damaged(folder, f"{type(error).__name__}: {error}") from error


def _joined(folder: Path) -> HookTrace:
    records: dict[str, dict[str, Any]] = {}
    files: dict[str, OutsideFile] = {}
    facts: dict[str, Any] = {}
    progress: dict[str, Any] = {}
    scripts: dict[str, Any] = {}
    found = sorted(folder.glob("trace-*.json"))
    for path in found:
        trace = _read(path)
        facts.update(trace["facts"])
        if "progress" in trace:
            progress[trace["process"]] = trace["progress"]
        scripts = trace.get("scripts") or scripts
        for name, one in trace["sites"].items():
            known = records.setdefault(name, {**one, "counts": {}, "values": {}, "processes": []})
            known["processes"].append(path.stem.removeprefix("trace-"))
            known["counts"].update(one["counts"])
            known["values"].update(one["values"])
        for name, one in trace["files"].items():
            files.setdefault(name, _outside_file(name, one))
    return HookTrace(
        sites={name: _site(one) for name, one in records.items()},
        files=files,
        processes=len(found),
        started=len(list(folder.glob("started-*"))),
        facts=facts,
        progress=progress,
        scripts=scripts,
    )


def _read(path: Path) -> dict[str, Any]:
    try:
        trace = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise _damaged(path, str(error)) from error
    if not isinstance(trace, dict) or not {"facts", "sites", "files"} <= trace.keys():
        raise _damaged(path, "no facts, sites and files")
    return trace


def _damaged(path: Path, why: str) -> CannotJudgeError:
    return CannotJudgeError(
        "this trace is damaged, or the hook did not write it",
        where=str(path),
        actual=why[:120],
        fix="run it again; the program must not write into the folder of its trace",
    )


def differing(first: HookTrace, second: HookTrace) -> tuple[str, ...]:
    """The call sites whose values differ, in the order in which the first run came to them."""
    digests = {name: site.digest for name, site in second.sites.items()}
    ordered = sorted(first.sites.items(), key=lambda pair: pair[1].first)
    return tuple(name for name, site in ordered if digests.get(name) != site.digest)


def _site(record: Mapping[str, Any]) -> Site:
    digest = hashlib.sha256(json.dumps([record["counts"], record["values"]], sort_keys=True).encode())
    words = {name: record[name] for name in ("kind", "file", "line", "function", "first")}
    return Site(
        **words,
        what=record.get("what", ""),
        count=sum(record["counts"].values()),
        digest=digest.hexdigest(),
        overwritten=bool(record.get("overwritten")),
        processes=tuple(record["processes"]),
    )


def _outside_file(path: str, record: Mapping[str, Any]) -> OutsideFile:
    return OutsideFile(
        path=path,
        written=_place(record.get("written")),
        read=_place(record.get("read")),
        read_after_write=bool(record.get("read_after_write")),
        existed=bool(record.get("existed")),
        folder=bool(record.get("folder")),
        kept=record.get("kept"),
    )


def _place(words: list[Any] | None) -> tuple[str, int, str] | None:
    return (str(words[0]), int(words[1]), str(words[2])) if words else None
