"""A run's folder read back: whether it is complete, which files it has, where it is.

COMPLETE is checked, never believed: a folder with a file that differs from it is not a finished run.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reprokit import file_tree
from reprokit.core.records import Outcome
from reprokit.core.run_record import RunRecord
from reprokit.errors import ReportError, UsageError
from reprokit.file_tree import Kind
from reprokit.layout import ENVIRONMENT, MARKER, OUTPUT, RECORD, read_json
from reprokit.records import run_json
from reprokit.records.newer import refuse_newer_schema
from reprokit.workspace import is_alive, sha256_of

_LISTED = {Kind.FILE, Kind.OVER_LIMIT}


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRun:
    """A run folder, read back."""

    path: Path  # the folder
    # `run.json`, or an empty record when it is missing, unreadable or not of the form that it is written in
    record: RunRecord = field(default_factory=RunRecord)
    complete: bool  # COMPLETE is there, and every file in it is there unchanged, and no other
    incomplete_because: str = ""  # why not complete, one sentence; empty when complete
    files: Mapping[str, int] = field(default_factory=dict)  # relative name → size in bytes

    @property
    def is_damaged(self) -> bool:
        """Whether nothing of its `run.json` can be believed, as `incomplete_because` says."""
        return self.record.is_empty

    @property
    def document(self) -> dict[str, Any]:
        """`run.json` as it stands, with the keys that this version does not know; empty as the record is."""
        return {} if self.is_damaged else read_json(self.path / RECORD)


def read(run_dir: Path, *, verify: bool = True) -> StoredRun:
    """Read a run folder back; ``verify`` compares every file with its digest in COMPLETE.

    Raises:
        ReportError: It is not a run folder.
    """
    if not (run_dir / RECORD).is_file():
        raise ReportError(
            "this is not a run folder: it holds no run.json",
            where=str(run_dir),
            fix="name a folder that `reprokit runs list` shows",
        )
    try:
        record, refused = run_json.read(run_dir), ""
    except ReportError as error:
        record, refused = RunRecord(), error.what
    files = _files_of(run_dir, record)
    because = refused or _why_incomplete(run_dir, record, files, verify=verify)
    return StoredRun(
        path=run_dir, record=record, complete=not because, incomplete_because=because, files=files
    )


def stopped_at_golden(stored: StoredRun) -> bool:
    """Whether a run was stopped early because it differs from the golden, so that it holds no end."""
    ended = stored.record.state == "finished" and not (stored.path / MARKER).exists()
    return ended and stored.record.outcome == Outcome.STOPPED_AT_GOLDEN


def must_not_be_stopped(folder: Path, *, what: str) -> None:
    """Refuse a run that was stopped at the golden, whatever else its folder holds.

    Raises:
        UsageError: It was; ``what`` says what it cannot be used for.
    """
    if run_json.recorded(folder).outcome == Outcome.STOPPED_AT_GOLDEN:
        raise UsageError(
            f"{what}: the run was stopped at the first difference from the golden",
            where=str(folder),
            fix="make whole runs: `reprokit reproduce RECIPE`, or `reprokit verify --no-watch-golden`",
        )


def touched(run_dir: Path, *, below: str) -> dict[str, str]:
    """Name → what became of it, of every file below one folder that is not as COMPLETE says, byte for byte.

    COMPLETE itself where that cannot be read; empty where the run never was finished.
    """
    if not (run_dir / MARKER).is_file():
        return {}
    return dict(_touched(run_dir, files_of(run_dir), verify=True, below=f"{below}/"))


def changed_files(run_dir: Path) -> Iterator[tuple[str, str]]:
    """Name and what became of it, of every file that is there and not as COMPLETE says."""
    there = files_of(run_dir)
    for name, what in _touched(run_dir, there, verify=True):
        if name in there or name == MARKER:
            yield name, what


def list_all(runs_dir: Path, *, recipe: str | None = None) -> list[Path]:
    """Every run folder, oldest first by its name."""
    found = files_two_below(runs_dir, RECORD, first=recipe)
    return [Path(path) for _, _, path in sorted((run, name, path) for name, run, path in found)]


def files_two_below(folder: Path, file: str, *, first: str | None = None) -> Iterator[tuple[str, str, str]]:
    """Folders ``<first>/<second>`` that hold a file: both names, and the path.

    Ten thousand ``Path`` objects cost more than all else that a list does, so here are none.
    """
    for above in _entries(folder):
        if first in {None, above.name}:
            for entry in _entries(above.path):
                if os.path.isfile(f"{entry.path}/{file}"):  # noqa: PTH113
                    yield above.name, entry.name, entry.path


def must_not_be_newer(run_dir: Path) -> None:
    """Refuse a run folder that a later version wrote: what it says is not known to this one.

    Raises:
        ReportError: It is one.
    """
    file = run_dir / RECORD
    refuse_newer_schema(read_json(file).get("schema"), name=RECORD, where=str(file), error=ReportError)


def find(runs_dir: Path, reference: str) -> Path:
    """The run folder that a person means: a path, or a run id or its unambiguous beginning.

    Raises:
        ReportError: None or several fit, or a newer version wrote it.
    """
    found = _find(runs_dir, reference)
    must_not_be_newer(found)
    return found


def _find(runs_dir: Path, reference: str) -> Path:
    if (Path(reference) / RECORD).is_file():
        return Path(reference)
    fitting = [path for path in list_all(runs_dir) if path.name.startswith(reference)]
    if len(fitting) != 1:
        found = "no run" if not fitting else f"{len(fitting)} runs"
        begin = "begin" if fitting else "begins"
        raise ReportError(
            f"{found} in {runs_dir} {begin} with {reference!r}",
            fix="`reprokit runs list` shows the run ids",
        )
    return fitting[0]


def inside_facts(run_dir: Path, name: str = ENVIRONMENT) -> dict[str, Any]:
    """A JSON object that the program left in ``output/``; empty when missing or not an object."""
    path = run_dir / OUTPUT / name
    if path.is_symlink() or not path.is_file():
        return {}
    return read_json(path)


def files_of(run_dir: Path) -> dict[str, int]:
    """The files of a run: relative name → size; not the marker, and not what is still output.

    What is over a limit of ``file_tree`` is among them, so that a run with such a thing is never complete.
    """
    return _files_of(run_dir, run_json.recorded(run_dir))


def _files_of(run_dir: Path, record: RunRecord) -> dict[str, int]:
    skipped = {MARKER} if record.keeps_output else {MARKER, OUTPUT}
    found = file_tree.walk(run_dir, skipped=skipped)
    listed = {entry.name: entry.num_bytes for entry in found if entry.kind in _LISTED}
    return {name: listed[name] for name in sorted(listed)}


def _entries(folder: Path | str) -> list[os.DirEntry[str]]:
    """What is in a folder; nothing where there is no such folder, or this user may not look."""
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []


def _why_incomplete(run_dir: Path, record: RunRecord, files: Mapping[str, int], *, verify: bool) -> str:
    if not (run_dir / MARKER).is_file():
        if record.state == "running" and is_alive(record.owner):
            return "the run has not ended"
        ended = record.completed
        because = "its program ended, but its folder was never closed" if ended else "the run was interrupted"
        return record.message or because
    if not record.completed or record.exit_code != 0:
        return "run.json does not say that the run completed"
    return next(_touched(run_dir, files, verify=verify), ("", ""))[1]


def _touched(
    run_dir: Path, files: Mapping[str, int], *, verify: bool, below: str = ""
) -> Iterator[tuple[str, str]]:
    listed = read_json(run_dir / MARKER).get("files")
    if not isinstance(listed, dict) or RECORD not in listed:
        yield MARKER, "COMPLETE is damaged"
        return
    for name in sorted(name for name in set(listed) | set(files) if name.startswith(below)):
        if name not in files:
            yield name, f"{name} is missing"
        elif name not in listed:
            yield name, f"{name} was added after the run"
        elif verify and _changed(run_dir / name, listed[name], num_bytes=files[name]):
            yield name, f"{name} was changed after the run"


def _changed(path: Path, listed: Any, *, num_bytes: int) -> bool:
    if not isinstance(listed, dict):
        return True
    if num_bytes > file_tree.WalkLimits().file_bytes and num_bytes != listed.get("bytes"):
        return True  # too large to be digested, and of another size anyway
    try:
        return sha256_of(path) != listed.get("sha256")
    except OSError:
        return True
