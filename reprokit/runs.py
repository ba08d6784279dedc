"""Run folders: ``runs/<recipe>/<run id>/``, everything that one execution produced.

This module owns their layout and the COMPLETE marker. It refuses to know how a run is realised
and what its numbers mean. Until a run has ended, the program that trains can write only to
``output/``; the host moves what it finds there up, and writes COMPLETE last.

    >>> read(Path("runs/cartpole_baseline/20261120T101500Z-seed42-3fa9")).complete
    True
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reprokit.core.records import SCHEMA_VERSION, Outcome, RunResult, RunSpec, to_json
from reprokit.errors import ReportError
from reprokit.workspace import cannot_write, is_alive, sha256_of, this_process, write_atomic, write_json

OUTPUT = "output"
MARKER = "COMPLETE"
RECORD = "run.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRun:
    """A run folder, read back.

    Attributes:
        path: The folder.
        record: ``run.json``, or empty when it is missing or unreadable.
        complete: COMPLETE is there, and every file in it is there unchanged, and no other.
        incomplete_because: Why not complete, one sentence; empty when complete.
        files: Relative name → size in bytes.
    """

    path: Path
    record: Mapping[str, Any] = field(default_factory=dict)
    complete: bool
    incomplete_because: str = ""
    files: Mapping[str, int] = field(default_factory=dict)


def create(
    runs_dir: Path, spec: RunSpec, *, facts: Mapping[str, Any], files: Mapping[str, bytes] | None = None
) -> Path:
    """Make the folder of a run that is about to start.

    Args:
        runs_dir: Where runs live.
        spec: What will run.
        facts: Further keys of ``run.json`` (digests, backend, platform, overrides, …).
        files: Host-owned files to write first: relative name → content.

    Raises:
        WorkspaceError: The folder cannot be made.
    """
    run_dir = runs_dir / spec.recipe / spec.run_id
    try:
        (run_dir / OUTPUT).mkdir(parents=True)
        for name, content in (files or {}).items():
            target = run_dir / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
    except OSError as error:
        raise cannot_write(run_dir, error) from error
    plan = to_json(spec)
    record = {
        "schema": SCHEMA_VERSION,
        "recipe": spec.recipe,
        "run_id": spec.run_id,
        "seed": spec.seed,
        "device": spec.device,
        "command": list(spec.command),
        "environment": plan["environment"],
        "image": plan["realisation"],
        "limits": plan["limits"],
        "attempt": spec.attempt,
        **facts,
        "state": "running",
        "owner": this_process(),
    }
    write_json(run_dir / RECORD, record)
    return run_dir


def inside_facts(run_dir: Path, name: str = "environment.json") -> dict[str, Any]:
    """A JSON object that the program left in ``output/``; empty when missing or not an object."""
    path = run_dir / OUTPUT / name
    if path.is_symlink() or not path.is_file():
        return {}
    try:
        facts = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return facts if isinstance(facts, dict) else {}


def finish(run_dir: Path, result: RunResult, *, environment: Mapping[str, Any]) -> None:
    """Close a run: move its output up, write its records, and COMPLETE if it ended with code 0.

    Raises:
        WorkspaceError: The disk is full or the folder cannot be written; no COMPLETE is left then.
    """
    record = _load_object(run_dir / RECORD)
    write_json(run_dir / "environment.json", environment)
    if record.get("image"):  # a recipe's own facts are merged into the record just written
        (run_dir / OUTPUT / "environment.json").unlink(missing_ok=True)
    left = _move_up(run_dir)
    ending = to_json(result)
    record.update({**ending, "outcome": str(result.outcome), "state": "finished", "left_in_output": left})
    write_json(run_dir / RECORD, record)
    if result.completed:
        _write_marker(run_dir)


def read(run_dir: Path, *, verify: bool = True) -> StoredRun:
    """Read a run folder back.

    Args:
        run_dir: The folder.
        verify: Compare every file with its digest in COMPLETE (a list of many runs need not).

    Raises:
        ReportError: It is not a run folder.
    """
    if not (run_dir / RECORD).is_file():
        raise ReportError(
            "this is not a run folder: it holds no run.json",
            where=str(run_dir),
            fix="name a folder that `reprokit runs list` shows",
        )
    record = _load_object(run_dir / RECORD)
    files = {name: path.stat().st_size for name, path in _files(run_dir)}
    because = _why_incomplete(run_dir, record, files, verify=verify)
    return StoredRun(
        path=run_dir, record=record, complete=not because, incomplete_because=because, files=files
    )


def list_all(runs_dir: Path, *, recipe: str | None = None) -> list[Path]:
    """Every run folder, oldest first by its name."""
    pattern = f"{recipe}/*/{RECORD}" if recipe else f"*/*/{RECORD}"
    return sorted((path.parent for path in runs_dir.glob(pattern)), key=lambda p: (p.name, p.parent.name))


def find(runs_dir: Path, reference: str) -> Path:
    """The run folder that a person means: a path, or a run id or its unambiguous beginning.

    Raises:
        ReportError: None or several fit.
    """
    if (Path(reference) / RECORD).is_file():
        return Path(reference)
    fitting = [path for path in list_all(runs_dir) if path.name.startswith(reference)]
    if len(fitting) != 1:
        found = "no run" if not fitting else f"{len(fitting)} runs"
        raise ReportError(
            f"{found} in {runs_dir} begin with {reference!r}",
            fix="`reprokit runs list` shows the run ids",
        )
    return fitting[0]


def recover(runs_dir: Path) -> list[Path]:
    """Close the runs whose tool was killed: mark them interrupted, never complete.

    Returns:
        The folders that were closed.
    """
    closed = []
    for run_dir in list_all(runs_dir):
        record = _load_object(run_dir / RECORD)
        if record.get("state") != "running" or is_alive(record.get("owner") or {}):
            continue
        close_interrupted(run_dir, message="the tool was killed before the run had ended")
        closed.append(run_dir)
    return closed


def close_interrupted(run_dir: Path, *, message: str = "interrupted by the user") -> None:
    """Close a run that was stopped on purpose: never complete, its files kept."""
    record = _load_object(run_dir / RECORD)
    record.update(
        state="finished",
        outcome=str(Outcome.INTERRUPTED),
        exit_code=None,
        message=message,
        remedy="run it again",
        left_in_output=_move_up(run_dir),
    )
    write_json(run_dir / RECORD, record)


def _move_up(run_dir: Path) -> list[str]:
    """Move what the program wrote from ``output/`` into the run folder.

    Host-owned names, links and special files stay where they are: following a link would let a
    program name any file of the host as its result.
    """
    output = run_dir / OUTPUT
    if not output.is_dir():
        return []
    left = []
    try:
        for path in sorted(output.iterdir()):
            target = run_dir / path.name
            if target.exists() or path.name in {MARKER, RECORD} or not _is_plain(path):
                left.append(path.name)
            else:
                path.rename(target)
        if not left:
            output.rmdir()
    except OSError as error:
        raise cannot_write(run_dir, error) from error
    return left


def _is_plain(path: Path) -> bool:
    if path.is_symlink():
        return False
    if path.is_dir():
        return all(_is_plain(child) for child in path.iterdir())
    return path.is_file()


def _files(run_dir: Path) -> Iterator[tuple[str, Path]]:
    for path in sorted(run_dir.rglob("*")):
        name = path.relative_to(run_dir).as_posix()
        if path.is_file() and not path.is_symlink() and name != MARKER and not name.startswith(f"{OUTPUT}/"):
            yield name, path


def _write_marker(run_dir: Path) -> None:
    try:
        files = {
            name: {"sha256": sha256_of(path), "bytes": path.stat().st_size} for name, path in _files(run_dir)
        }
    except OSError as error:
        raise cannot_write(run_dir, error) from error
    marker = json.dumps({"schema": SCHEMA_VERSION, "files": files}, indent=2) + "\n"
    write_atomic(run_dir / MARKER, marker.encode())


def _why_incomplete(
    run_dir: Path, record: Mapping[str, Any], files: Mapping[str, int], *, verify: bool
) -> str:
    if not (run_dir / MARKER).is_file():
        if record.get("state") == "running" and is_alive(record.get("owner") or {}):
            return "the run has not ended"
        return str(record.get("message") or "the run was interrupted")
    if record.get("outcome") != Outcome.COMPLETED or record.get("exit_code") != 0:
        return "run.json does not say that the run completed"
    listed = _load_object(run_dir / MARKER).get("files")
    if not isinstance(listed, dict) or RECORD not in listed:
        return "COMPLETE is damaged"
    return _first_touched(run_dir, listed, files, verify=verify)


def _first_touched(
    run_dir: Path, listed: Mapping[str, Any], files: Mapping[str, int], *, verify: bool
) -> str:
    for name in sorted(set(listed) | set(files)):
        if name not in files:
            return f"{name} is missing"
        if name not in listed:
            return f"{name} was added after the run"
        if verify and _changed(run_dir / name, listed[name]):
            return f"{name} was changed after the run"
    return ""


def _changed(path: Path, listed: Any) -> bool:
    return not isinstance(listed, dict) or sha256_of(path) != listed.get("sha256")


def _load_object(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
