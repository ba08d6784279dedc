"""A run's folder made and closed, whole or not at all.

Until a run has ended, the program that trains can write only to ``output/``; the host moves what it finds
there up, and writes COMPLETE last.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from reprokit import extensions, file_tree
from reprokit.core.records import SCHEMA_VERSION, Outcome, RunResult, RunSpec, to_json
from reprokit.core.run_record import RunRecord
from reprokit.errors import ReprokitError, WorkspaceError
from reprokit.file_tree import Kind
from reprokit.layout import ENVIRONMENT, MARKER, OUTPUT, RECORD, read_json
from reprokit.records import run_json
from reprokit.redaction import redact, redact_command, secret_values
from reprokit.runs.logs import redact_logs
from reprokit.runs.reading import files_of, list_all
from reprokit.workspace import (
    cannot_write,
    is_alive,
    machine_id,
    sha256_of,
    this_process,
    write_atomic,
    write_json,
)

_WHY_LEFT = {Kind.LINK: "it is a link", Kind.SPECIAL: "it is a special file"}
_LISTED = 100  # of what was left, in run.json
_SHOWN = 3  # of it, in a line for a person
#: Links that a library makes to a log of its own outside the run; by such a name nothing is ever compared.
_OF_LIBRARIES = re.compile(r"(?:.*/)?wandb/(?:offline-)?run-\d{8}_\d{6}-[^/]+/logs/debug-core\.log")
_LARGE_BYTES, _BLOCK_BYTES = 1 << 30, 512  # stat(2): st_blocks counts blocks of 512 bytes


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
        record = _record(spec, facts)
        elsewhere = {"machine": machine_id()} if record["where"] != "local" else {}
        _write_record(run_dir, {**record, "state": "running", "owner": {**this_process(), **elsewhere}})
    except (OSError, WorkspaceError) as error:
        with contextlib.suppress(OSError):
            file_tree.remove(run_dir)  # half a folder is no run, and takes space
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
        "where": "local",
        "machine": {"id": machine_id()},
        **_extensions(),
        **facts,
    }


def _extensions() -> dict[str, Any]:
    """Which extensions are loaded, where any is: what a run is made by, or read by, may be theirs."""
    loaded = extensions.recorded()
    return {"extensions": [one._asdict() for one in loaded]} if loaded else {}


def record_of(spec: RunSpec, *, facts: Mapping[str, Any]) -> RunRecord:
    """What ``run.json`` will say of a run before it begins, as a reader of the file finds it."""
    written = json.loads(json.dumps(_without_secrets(_record(spec, facts))))
    return run_json.of(written, where=RECORD)


def _write_record(run_dir: Path, record: Mapping[str, Any]) -> None:
    write_json(run_dir / RECORD, _without_secrets(record))


def _without_secrets(record: Mapping[str, Any]) -> dict[str, Any]:
    """A record with no secret in it; what names the run's folder is as that is."""
    names = {name: record[name] for name in ("recipe", "run_id") if name in record}
    return {**redact(record), **names}


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
        WorkspaceError: The disk is full or the folder cannot be written, or another tool has closed the run
            meanwhile, as one of a machine that seemed lost: no COMPLETE is left then.
    """
    began = run_json.recorded(run_dir)
    if began.state == "finished":  # its files were moved while it continued: they may be anything
        raise WorkspaceError(
            "another tool has closed this run meanwhile", where=str(run_dir), fix="run it again"
        )
    redact_logs(run_dir, secrets)
    write_json(run_dir / ENVIRONMENT, environment)
    if began.image and not began.keeps_output:  # its own facts are merged into the record just written
        (run_dir / OUTPUT / ENVIRONMENT).unlink(missing_ok=True)
    left = _special_files(run_dir / OUTPUT) if began.keeps_output else _move_up(run_dir)
    ending = {**_ending(result), **_left_facts(left)}
    _write_record(run_dir, {**read_json(run_dir / RECORD), **(facts or {}), **ending})
    if result.completed:
        _write_marker(run_dir)


def _ending(result: RunResult) -> dict[str, Any]:
    """What ``run.json`` says of how a run ended; the code of a program that is not pinned it has already."""
    told = to_json(result)
    del told["needs_privileges"]
    for name in ("outside_code", "other_tree"):
        if told[name] is None:
            del told[name]
    return {**told, "outcome": str(result.outcome), "state": "finished"}


def close_unfinished(run_dir: Path, result: RunResult) -> None:
    """Say how a run ended whose folder could not be closed; asks for as little space as can be.

    Raises:
        WorkspaceError: Not even that can be written.
    """
    record = read_json(run_dir / RECORD)
    record.update(_ending(result))
    _write_record(run_dir, record)


def close_interrupted(
    run_dir: Path,
    *,
    message: str = "interrupted by the user",
    outcome: Outcome = Outcome.INTERRUPTED,
    secrets: Sequence[str] = (),
) -> dict[str, str]:
    """Close a run that was stopped on purpose: never complete, its files kept.

    Returns:
        What was left in ``output/``, and why.

    Raises:
        WorkspaceError: The folder cannot be written.
    """
    record = read_json(run_dir / RECORD)
    redact_logs(run_dir, secrets)
    record.update(
        state="finished",
        outcome=str(outcome),
        exit_code=None,
        message=message,
        remedy="run it again",
    )
    left = {} if run_json.recorded(run_dir).keeps_output else _move_up(run_dir)
    record.update(_left_facts(left))
    _write_record(run_dir, record)
    return left


def _left_facts(left: Mapping[str, str]) -> dict[str, Any]:
    """What ``run.json`` says of what was left; a program that left very much has it counted."""
    told = dict(islice(left.items(), _LISTED))
    if len(left) > _LISTED:
        told[f"… and {len(left) - _LISTED:,} more"] = "only so many are listed"
    return {"left_in_output": list(told), "left_because": told}


def recover(runs_dir: Path, *, note: Callable[[str], None]) -> list[Path]:
    """Close the runs whose tool was killed: mark them interrupted, never complete; returns their folders.

    ``note`` is told of each run that could not be closed, and of files that were left where they were.
    """
    closed = []
    for run_dir in list_all(runs_dir):
        record = run_json.recorded(run_dir)
        if record.state != "running" or is_alive(record.owner):
            continue
        try:
            left = close_interrupted(
                run_dir,
                message="the tool ended before it could close the run: killed, or no space left",
                secrets=secret_values(os.environ),
            )
        except (
            ReprokitError,
            OSError,
            ValueError,
        ) as error:  # one such run must not stop every later command
            told = error.told() if isinstance(error, ReprokitError) else str(error)
            note(f"{run_dir}: the interrupted run is left as it is: {told}")
            continue
        closed.append(run_dir)
        if left:
            told = "; ".join(f"{name} ({because})" for name, because in islice(left.items(), _SHOWN))
            more = f" and {len(left) - _SHOWN} more" if len(left) > _SHOWN else ""
            note(f"{run_dir}: closed as interrupted; left in {OUTPUT}/: {told}{more}")
    return closed


def _move_up(run_dir: Path) -> dict[str, str]:
    """Move what the program wrote from ``output/`` into the run folder; returns what stayed, and why.

    Host-owned names, links and special files stay: following a link would let a program name any file of the
    host as its result. So does what is over a limit of ``file_tree``. Links to something within ``output/``
    lose nothing and are not returned, but for one that makes a metrics file of what is called otherwise.
    """
    output = run_dir / OUTPUT
    if output.is_symlink():
        return {OUTPUT: _WHY_LEFT[Kind.LINK]}
    if not output.is_dir():
        return {}
    try:
        names = sorted(path.name for path in output.iterdir())
        taken = {*(path.name for path in run_dir.iterdir()), MARKER, RECORD}.intersection(names)
        left = {name: "its name is reserved" for name in names if name in taken}
        found = list(file_tree.walk(output, skipped=taken))
        links = [entry.name for entry in found if entry.kind is Kind.LINK]
        lossless = {name for name in links if _loses_nothing(name, output, renaming=False)}
        for entry in found:
            if entry.because or entry.kind in _WHY_LEFT:
                if entry.name not in lossless:
                    left[entry.name or OUTPUT] = entry.because or _WHY_LEFT[entry.kind]
            elif entry.kind is Kind.FOLDER:
                (run_dir / entry.name).mkdir()
            else:
                (output / entry.name).rename(run_dir / entry.name)
        for place in ("", *(entry.name for entry in found if entry.kind is Kind.FOLDER))[::-1]:
            with contextlib.suppress(OSError):  # what is left lies in it
                (output / place).rmdir()
    except OSError as error:
        raise cannot_write(run_dir, error) from error
    return left


def _special_files(output: Path) -> dict[str, str]:
    """What an unmodified program left that is no file, and why: the run is not complete with it."""
    if output.is_symlink():
        return {OUTPUT: _WHY_LEFT[Kind.LINK]}
    odd = (entry for entry in file_tree.walk(output) if entry.because or entry.kind in _WHY_LEFT)
    return {
        entry.name or OUTPUT: entry.because or _WHY_LEFT[entry.kind]
        for entry in odd
        if entry.kind is not Kind.LINK or not _loses_nothing(entry.name, output)
    }


def _loses_nothing(name: str, output: Path, *, renaming: bool = True) -> bool:
    """Whether a link leads to something within the run, or is a library's own."""
    if _OF_LIBRARIES.fullmatch(name):
        return True
    link = output / name
    try:
        target = link.resolve()
        inside = link.exists() and target.is_relative_to(output.resolve())
        return inside and (renaming or target.is_dir() or target.suffix == link.suffix)
    except (OSError, RuntimeError):  # a path too long, or links in a circle
        return False


def _must_have_content(run_dir: Path, sizes: Mapping[str, int]) -> None:
    """Refuse a large file with nothing on the disk: to read its zeros can take hours.

    Compression by the file system alone never makes a file a thousand times smaller.
    """
    for name, size in sizes.items():
        on_disk = (run_dir / name).lstat().st_blocks * _BLOCK_BYTES
        if size > _LARGE_BYTES and on_disk * 1000 < size:
            raise WorkspaceError(
                "the run cannot be digested: a file consists of holes",
                where=str(run_dir / name),
                expected="a file that was written",
                actual=f"{size / (1 << 30):,.1f} GiB, of which {on_disk / 1024:,.0f} KiB are on the disk",
                fix="have the program write the file from its beginning, or outside the folder of the run",
            )


def _write_marker(run_dir: Path) -> None:
    try:
        skipped = {MARKER} if run_json.recorded(run_dir).keeps_output else {MARKER, OUTPUT}
        found = file_tree.walk(run_dir, skipped=skipped)
        over = next((entry for entry in found if entry.kind is Kind.OVER_LIMIT), None)
        if over is not None:
            raise WorkspaceError(
                f"the run cannot be digested: {over.because}", where=str(run_dir / over.name)
            )
        sizes = files_of(run_dir)
        _must_have_content(run_dir, sizes)
        files = {name: {"sha256": sha256_of(run_dir / name), "bytes": size} for name, size in sizes.items()}
    except OSError as error:
        raise cannot_write(run_dir, error) from error
    marker = json.dumps({"schema": SCHEMA_VERSION, "files": files}, indent=2) + "\n"
    write_atomic(run_dir / MARKER, marker.encode())
