"""What an unmodified program leaves, brought into a run folder by the host after the program has ended.

The program's files stay under ``output/``; the host writes one ``metrics.jsonl`` from all of its sources.
"""

from __future__ import annotations

import filecmp
import json
import shutil
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Any

from reprokit import adapters, checkpoints, workspace
from reprokit.errors import CheckpointError, MetricsError
from reprokit.execution.docker_config import MOUNTS, RUN_DIR
from reprokit.harness.running.program_files import files_below
from reprokit.layout import METRICS, OUTPUT, PROGRAM, STDERR, STDOUT
from reprokit.recipes import Program

#: In the folder that a program may write to: its own copy of the project, results included.
WORK = ".work"
#: What the copy of the project is mounted as.
PROGRAM_MOUNT = "program"
_TENSORS = (".pt", ".pth", ".bin", ".ckpt", ".safetensors")
_MOST_OUTPUTS = 10_000


def make_room(folder: Path, program: Program) -> None:
    """Give a program that writes below its working folder a copy of the project, which it may write to."""
    if not program.collect:
        return
    work = folder / OUTPUT / WORK
    shutil.copytree(folder / PROGRAM, work)
    for path in (work, *work.rglob("*")):  # a container's user is not the caller where that is root
        path.chmod(path.stat().st_mode | (0o777 if path.is_dir() else 0o666))


def collect(folder: Path, program: Program) -> None:
    """Move what a program wrote at the places under ``collect`` to ``output/``; remove its copy."""
    output, work = folder / OUTPUT, folder / OUTPUT / WORK
    if not work.is_dir() or work.is_symlink():
        return
    for name in files_below(work):
        if not _collected(name, program.collect) or _is_unchanged(work / name, folder / PROGRAM / name):
            continue
        target = output / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists():
            (work / name).rename(target)
    shutil.rmtree(work, ignore_errors=True)


def changed_files(folder: Path, digests: Mapping[str, str]) -> tuple[str, ...]:
    """Files of a run's copy of the project that the program changed, added or removed."""
    source = folder / PROGRAM
    there = {name: workspace.sha256_of(source / name) for name in files_below(source)}
    return tuple(sorted(name for name in {*there, *digests} if there.get(name) != digests.get(name)))


def write_metrics(folder: Path, program: Program) -> dict[str, Any]:
    """Write the run's ``metrics.jsonl``.

    Returns:
        Keys of ``run.json``: ``sources`` and ``volatile``; ``metrics_problem`` where nothing could be read.
    """
    output = folder / OUTPUT
    try:
        made = adapters.canonical_records(
            output,
            logs=(folder / STDOUT, folder / STDERR),
            volatile=program.volatile,
            printed=program.printed,
            places=_places(folder),
        )
        left = _outputs(output, program.outputs)
    except MetricsError as error:
        parts = {name: getattr(error, name) for name in ("what", "kind", "where", "expected", "fix")}
        return {"metrics_problem": parts}
    records = [*made.records, *([_record_of(left, made.records)] if left else ())]
    workspace.write_atomic(folder / METRICS, b"".join(line + b"\n" for line in records))
    return {"sources": dict(made.sources), "volatile": dict(made.volatile)}


def _record_of(outputs: Mapping[str, str], records: Sequence[bytes]) -> bytes:
    """The last record: what the declared output files hold."""
    step = json.loads(records[-1])["step"] if records else 0
    return json.dumps({"step": step, **outputs}, ensure_ascii=False).encode()


def _outputs(output: Path, patterns: Sequence[str]) -> dict[str, str]:
    """Digest of each declared output file, of a checkpoint that can be read safely for each tensor.

    Raises:
        MetricsError: A pattern fits no file.
    """
    found: dict[str, str] = {}
    names = [name for name in files_below(output) if not name.startswith(f"{WORK}/")] if patterns else []
    for pattern in patterns:
        fitting = [name for name in names if fnmatchcase(name, pattern)]
        if not fitting:
            raise MetricsError(
                f"the program left no file {pattern}",
                kind="missing_file",
                where=str(output),
                fix="correct `outputs` in the recipe",
            )
        for name in fitting[:_MOST_OUTPUTS]:
            found |= _digests_of(output / name, f"output/{name}")
    return found


def _digests_of(path: Path, name: str) -> dict[str, str]:
    if path.suffix in _TENSORS:
        try:
            read = checkpoints.safetensors_file.read if path.suffix == ".safetensors" else checkpoints.read
            return {
                f"{name}:{tensor}": checkpoints.content_digest(value)
                for tensor, value in checkpoints.leaves(read(path))
            }
        except CheckpointError:  # of another kind, or holding what cannot be read safely: compared as it is
            pass
    return {name: workspace.sha256_of(path)}


def _collected(name: str, places: Sequence[str]) -> bool:
    paths = (PurePosixPath(name), *PurePosixPath(name).parents)
    return any(fnmatchcase(path.as_posix(), place.rstrip("/")) for path in paths for place in places)


def _is_unchanged(path: Path, original: Path) -> bool:
    return original.is_file() and filecmp.cmp(path, original, shallow=False)


def _places(folder: Path) -> dict[str, str]:
    """Paths of the run as its program saw them on this host → what stands for them."""
    found = {RUN_DIR: "{run_dir}", f"{RUN_DIR}/{WORK}": "{project}", f"{MOUNTS}/{PROGRAM_MOUNT}": "{project}"}
    for name in {str(folder.resolve()), str(folder.absolute())}:
        found |= {f"{name}/{OUTPUT}/{WORK}": "{project}", f"{name}/{OUTPUT}": "{run_dir}"}
        found |= {f"{name}/{PROGRAM}": "{project}"}
    return {**found, folder.name: "{run_id}"}
