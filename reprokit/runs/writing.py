"""A run's folder made and closed, whole or not at all.

Until a run has ended, the program that trains can write only to ``output/``; the host moves what it finds
there up, and writes COMPLETE last.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from reprokit.core.records import SCHEMA_VERSION, Outcome, RunResult, RunSpec, to_json
from reprokit.errors import WorkspaceError
from reprokit.layout import ENVIRONMENT, MARKER, OUTPUT, RECORD, read_json
from reprokit.redaction import redact, redact_command, secret_values
from reprokit.runs.logs import redact_logs
from reprokit.runs.reading import files_of, keeps_output, list_all
from reprokit.workspace import cannot_write, is_alive, sha256_of, this_process, write_atomic, write_json


def create(
    runs_dir: Path, spec: RunSpec, *, facts: Mapping[str, Any], files: Mapping[str, bytes] | None = None
) -> Path:
    """Make the folder of a run that is about to start.

    ``facts`` are further keys of ``run.json``; ``files`` are host-owned: relative name → content.

    Raises:
        WorkspaceError: The folder cannot be made.
    """
    run_dir = runs_dir / spec.recipe / spec.run_id
    try:
        (run_dir / OUTPUT).mkdir(parents=True)
    except OSError as error:
        raise cannot_write(run_dir, error) from error
    try:
        for name, content in (files or {}).items():
            target = run_dir / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        _write_record(run_dir, _record(spec, facts))
    except (OSError, WorkspaceError) as error:
        shutil.rmtree(run_dir, ignore_errors=True)  # half a folder is no run, and takes space
        raise cannot_write(run_dir, error) if isinstance(error, OSError) else error from error
    return run_dir


def _record(spec: RunSpec, facts: Mapping[str, Any]) -> dict[str, Any]:
    plan = to_json(spec)
    return {
        "schema": SCHEMA_VERSION,
        "recipe": spec.recipe,
        "run_id": spec.run_id,
        "seed": spec.seed,
        "device": spec.device,
        "command": list(redact_command(spec.command)),
        "environment": plan["environment"],
        "image": plan["realisation"],
        "limits": plan["limits"],
        "attempt": spec.attempt,
        **facts,
        "state": "running",
        "owner": this_process(),
    }


def _write_record(run_dir: Path, record: Mapping[str, Any]) -> None:
    """Write ``run.json``, with no secret in it; what names the run's folder is as that is."""
    names = {name: record[name] for name in ("recipe", "run_id") if name in record}
    write_json(run_dir / RECORD, {**redact(record), **names})


def finish(
    run_dir: Path,
    result: RunResult,
    *,
    environment: Mapping[str, Any],
    secrets: Sequence[str] = (),
    facts: Mapping[str, Any] | None = None,
) -> None:
    """Close a run: move its output up, write its records, and COMPLETE if it ended with code 0.

    ``secrets`` are values that must not stay in its logs, ``facts`` further keys of ``run.json``.

    Raises:
        WorkspaceError: The disk is full or the folder cannot be written; no COMPLETE is left then.
    """
    record = {**read_json(run_dir / RECORD), **(facts or {})}
    redact_logs(run_dir, secrets)
    write_json(run_dir / ENVIRONMENT, environment)
    if record.get("image") and not keeps_output(
        record
    ):  # a recipe's own facts are merged into the record just written
        (run_dir / OUTPUT / ENVIRONMENT).unlink(missing_ok=True)
    left = _special_files(run_dir / OUTPUT) if keeps_output(record) else _move_up(run_dir)
    ending = to_json(result)
    record.update({**ending, "outcome": str(result.outcome), "state": "finished", "left_in_output": left})
    _write_record(run_dir, record)
    if result.completed:
        _write_marker(run_dir)


def close_unfinished(run_dir: Path, result: RunResult) -> None:
    """Say how a run ended whose folder could not be closed; asks for as little space as can be.

    Raises:
        WorkspaceError: Not even that can be written.
    """
    record = read_json(run_dir / RECORD)
    record.update({**to_json(result), "outcome": str(result.outcome), "state": "finished"})
    _write_record(run_dir, record)


def close_interrupted(
    run_dir: Path, *, message: str = "interrupted by the user", secrets: Sequence[str] = ()
) -> None:
    """Close a run that was stopped on purpose: never complete, its files kept."""
    record = read_json(run_dir / RECORD)
    redact_logs(run_dir, secrets)
    record.update(
        state="finished",
        outcome=str(Outcome.INTERRUPTED),
        exit_code=None,
        message=message,
        remedy="run it again",
        left_in_output=[] if keeps_output(record) else _move_up(run_dir),
    )
    _write_record(run_dir, record)


def recover(runs_dir: Path) -> list[Path]:
    """Close the runs whose tool was killed: mark them interrupted, never complete; returns their folders."""
    closed = []
    for run_dir in list_all(runs_dir):
        record = read_json(run_dir / RECORD)
        if record.get("state") != "running" or is_alive(record.get("owner") or {}):
            continue
        close_interrupted(
            run_dir,
            message="the tool ended before it could close the run: killed, or no space left",
            secrets=secret_values(os.environ),
        )
        closed.append(run_dir)
    return closed


def _move_up(run_dir: Path) -> list[str]:
    """Move what the program wrote from ``output/`` into the run folder; returns what stayed.

    Host-owned names, links and special files stay: following a link would let a program name any file of the
    host as its result. Links to something within ``output/`` lose nothing and are not returned.
    """
    output = run_dir / OUTPUT
    if not output.is_dir():
        return []
    left: list[str] = []
    try:
        inner = {path for path in output.rglob("*") if path.is_symlink() and _leads_inside(path, output)}
        for path in sorted(output.iterdir()):
            if (run_dir / path.name).exists() or path.name in {MARKER, RECORD}:
                left.append(path.name)
            else:
                _move(path, run_dir / path.name, output=output, inner=inner, left=left)
        with contextlib.suppress(OSError):
            output.rmdir()
    except OSError as error:
        raise cannot_write(run_dir, error) from error
    return left


def _move(path: Path, target: Path, *, output: Path, inner: set[Path], left: list[str]) -> None:
    if path in inner:
        return
    if path.is_symlink() or not (path.is_dir() or path.is_file()):
        left.append(path.relative_to(output).as_posix())
    elif path.is_file():
        path.rename(target)
    else:
        target.mkdir()
        for child in sorted(path.iterdir()):
            _move(child, target / child.name, output=output, inner=inner, left=left)
        with contextlib.suppress(OSError):
            path.rmdir()


def _special_files(output: Path) -> list[str]:
    """What an unmodified program left that is no file: not digested, so the run is not complete with it."""
    inside = (path for path in sorted(output.rglob("*")) if not path.is_dir() or path.is_symlink())
    odd = (path for path in inside if path.is_symlink() or not path.is_file())
    return [path.relative_to(output).as_posix() for path in odd if not _leads_inside(path, output)]


def _leads_inside(link: Path, output: Path) -> bool:
    return link.exists() and link.resolve().is_relative_to(output.resolve())


def _write_marker(run_dir: Path) -> None:
    try:
        files = {
            name: {"sha256": sha256_of(run_dir / name), "bytes": size}
            for name, size in files_of(run_dir).items()
        }
    except OSError as error:
        raise cannot_write(run_dir, error) from error
    marker = json.dumps({"schema": SCHEMA_VERSION, "files": files}, indent=2) + "\n"
    write_atomic(run_dir / MARKER, marker.encode())
