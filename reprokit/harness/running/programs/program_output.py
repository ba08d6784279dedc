"""What an unmodified program leaves, brought into a run folder by the host after the program has ended.

The program's files stay under ``output/``; the host writes one ``metrics.jsonl`` from all of its sources.
"""

from __future__ import annotations

import contextlib
import filecmp
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Any

from reprokit import adapters, checkpoints, file_tree, runs, workspace
from reprokit.core.comparing.metric_names import nearest_patterns
from reprokit.core.records import digest, digest_bytes
from reprokit.core.verdicts.rows import listed
from reprokit.errors import CheckpointError, MetricsError, UsageError
from reprokit.execution.docker_config import MOUNTS, RUN_DIR
from reprokit.file_tree import Kind
from reprokit.layout import (
    ENVIRONMENT,
    MARKER,
    METRICS,
    OUTPUT,
    PROGRAM,
    RECORD,
    STDERR,
    STDOUT,
    TENSOR_FILES,
    TIMING,
)
from reprokit.recipes import Program

#: In the folder that a program may write to: its own copy of the project, results included.
WORK = ".work"
#: What the copy of the project is mounted as.
PROGRAM_MOUNT = "program"
#: What the host writes into the folder of a plain command's run; durations repeat nowhere, by contract.
_OF_HOST = frozenset({RECORD, ENVIRONMENT, STDOUT, STDERR, MARKER, TIMING})
_MOST_OUTPUTS = 10_000
_MOST_SEARCHED = 16 << 20  # bytes


def make_working_copy(folder: Path, program: Program) -> None:
    """Give a program that writes below its working folder a copy of the project, which it may write to."""
    if not program.collect:
        return
    work = folder / OUTPUT / WORK
    shutil.copytree(folder / PROGRAM, work)
    for path in (work, *work.rglob("*")):  # a container's user is not the caller where that is root
        path.chmod(path.stat().st_mode | (0o777 if path.is_dir() else 0o666))


def collect(folder: Path, program: Program) -> dict[str, Any]:
    """Move what a program wrote at the places under ``collect`` to ``output/``; remove its copy.

    Returns:
        ``metrics_problem``, a key of ``run.json``, where a result cannot be moved; else nothing.
    """
    output, work = folder / OUTPUT, folder / OUTPUT / WORK
    if not program.collect or not work.is_dir() or work.is_symlink():
        return {}
    try:
        for name in _files_below(work, fitting=program.collect):
            if _is_collected(name, program.collect) and _is_written(work / name, folder / PROGRAM / name):
                _move(work / name, output / name)
    except MetricsError as error:
        return _problem(error)
    finally:
        with contextlib.suppress(OSError):
            file_tree.remove(work)
    return {}


def _move(result: Path, target: Path) -> None:
    """Move a result; a ``MetricsError`` where something else is in its place, which would hide it."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.exists() or target.is_symlink():
            raise FileExistsError
        result.rename(target)
    except OSError as error:
        raise MetricsError(
            f"the result {result.name} cannot be collected: something else is in its place",
            where=str(target),
            fix="have the program write to {run_dir} or below `collect`, not both to one place",
        ) from error


def changed_files(folder: Path, digests: Mapping[str, str]) -> tuple[str, ...]:
    """Files of a run's copy of the project that the program changed, added or removed."""
    source = folder / PROGRAM
    there = {
        entry.name: workspace.sha256_of(source / entry.name) if entry.kind is Kind.FILE else ""
        for entry in file_tree.walk(source)
        if entry.kind is not Kind.FOLDER
    }
    return tuple(sorted(name for name in {*there, *digests} if there.get(name) != digests.get(name)))


def write_metrics(folder: Path, program: Program) -> dict[str, Any]:
    """Write the run's ``metrics.jsonl``.

    Returns:
        Keys of ``run.json``: ``sources`` and ``volatile``, with ``volatile_idle`` patterns that fit no
        metric and ``printed_idle`` patterns that fit no line; ``metrics_problem`` where nothing could be
        read.
    """
    output = folder / OUTPUT
    try:
        made = adapters.canonical_records(
            output,
            logs=(folder / STDOUT, folder / STDERR),
            volatile=program.volatile,
            printed=program.printed,
            places=places_of(folder),
        )
        left = _outputs(output, program.outputs, run_id=folder.name)
    except MetricsError as error:
        return _problem(_not_written(error, folder, program))
    records = [*made.records, *([_record_of(left, made.records)] if left else ())]
    workspace.write_atomic(folder / METRICS, b"".join(line + b"\n" for line in records))
    idle: dict[str, Any] = {"volatile_idle": dict(made.idle)} if made.idle else {}
    idle |= {"printed_idle": list(made.printed_idle)} if made.printed_idle else {}
    return {"sources": dict(made.sources), "volatile": dict(made.volatile), **idle}


def _not_written(error: MetricsError, folder: Path, program: Program) -> MetricsError:
    """The error of a run without metrics, where results of an earlier one are among the program's files."""
    there = [
        name for name in _files_below(folder / PROGRAM, fitting=()) if _is_collected(name, program.collect)
    ]
    if error.kind != "no_metrics_file" or not there:
        return error
    verb = "is" if len(there) == 1 else "are"
    return MetricsError(
        f"the program left no metrics: {listed(there)} {verb} as before the run",
        kind=error.kind,
        where=str(folder / OUTPUT),
        fix="have the program write its results again, and take them out of git: `git rm --cached`",
    )


def digests_asked(folder: Path, patterns: Sequence[str]) -> dict[str, Any]:
    """What the output files hold that count next to the metrics of a plain command.

    Returns:
        ``output_digests``, a key of ``run.json``; ``metrics_problem`` where they cannot be compared.
    """
    if not patterns:
        return {}
    try:
        found = _outputs(folder / OUTPUT, patterns, run_id=folder.name, all_must_fit=False)
    except MetricsError as error:
        return _problem(error)
    return {"output_digests": found}


def left_by(run: runs.StoredRun) -> list[str]:
    """The files that the program of a finished run left, as it named them below ``{run_dir}``."""
    inside = f"{OUTPUT}/"
    if run.record.keeps_output:
        return [name.removeprefix(inside) for name in run.files if name.startswith(inside)]
    return [name for name in run.files if name not in _OF_HOST]


def must_leave(names: Sequence[str], patterns: Sequence[str]) -> None:
    """Refuse patterns of output files if one matches none of the ``names`` that a run left.

    Raises:
        UsageError: One fits none, with the nearest names.
    """
    for pattern in patterns:
        if not any(fits(name, [pattern]) for name in names):
            near = nearest_patterns(pattern, names)
            fix = f"correct it; the nearest names: {near}" if near else "have the program write to {run_dir}"
            raise UsageError(f"the program left no file that matches {pattern!r}", where="--output", fix=fix)


def _problem(error: MetricsError) -> dict[str, Any]:
    parts = {name: getattr(error, name) for name in ("what", "kind", "where", "expected", "fix")}
    return {"metrics_problem": parts}


def _record_of(outputs: Mapping[str, str], records: Sequence[bytes]) -> bytes:
    """The last record: what the declared output files hold."""
    step = json.loads(records[-1])["step"] if records else 0
    return json.dumps({"step": step, **outputs}, ensure_ascii=False).encode()


def _outputs(
    output: Path, patterns: Sequence[str], *, run_id: str, all_must_fit: bool = True
) -> dict[str, str]:
    """Digest of each declared output file, of a checkpoint that can be read safely for each tensor.

    Raises:
        MetricsError: A pattern fits no file, or a file that cannot be compared.
    """
    found: dict[str, str] = {}
    names = list(_files_below(output, fitting=patterns)) if patterns else []
    for pattern in patterns:
        fitting = [name for name in names if fits(name, [pattern])]
        if not fitting and all_must_fit:
            raise MetricsError(
                f"the program left no file {pattern}",
                kind="missing_file",
                where=str(output),
                fix="correct `outputs` in the recipe",
            )
        if len(fitting) > _MOST_OUTPUTS:
            raise _not_comparable(
                output, f"{pattern} matches {len(fitting):,} files, more than {_MOST_OUTPUTS:,}"
            )
    for name in dict.fromkeys(name for name in names if fits(name, patterns)):
        for key, value in digests_of(output / name, f"output/{name}", run_id=run_id).items():
            if key in found:
                raise _not_comparable(output, f"two outputs are called {key}")
            found[key] = value
    return found


def digests_of(path: Path, name: str, *, run_id: str) -> dict[str, str]:
    """Of a checkpoint: all that is no tensor under its own name, and each tensor; of another file its own.

    Where a small file holds the run's id, as in the path of its folder, ``{run_id}`` is digested for it.
    """
    if path.suffix in TENSOR_FILES:
        is_safetensors = path.suffix == checkpoints.safetensors_file.SUFFIX
        try:
            tree, tensors = checkpoints.pack(checkpoints.read(path))
            texts = checkpoints.safetensors_file.metadata_of(path) if is_safetensors else {}
            return {
                name: digest([tree, texts]),
                **{
                    f"{name}:{tensor}": checkpoints.content_digest(value) for tensor, value in tensors.items()
                },
            }
        except (CheckpointError, ValueError):  # of another kind, or it cannot be read safely: as it is
            pass
    if path.stat().st_size <= _MOST_SEARCHED:
        content = path.read_bytes()
        if run_id.encode() in content:
            return {name: digest_bytes(content.replace(run_id.encode(), b"{run_id}"))}
    return {name: workspace.sha256_of(path)}


def _files_below(folder: Path, *, fitting: Sequence[str]) -> Iterator[str]:
    """Names of plain files below a folder, in order; no link is followed.

    Raises:
        MetricsError: What fits one of the patterns is no plain file, or not all can be looked at.
    """
    for entry in file_tree.walk(folder):
        if entry.kind is Kind.FILE:
            _must_be_text(folder, entry.name)
            yield entry.name
        elif entry.kind is Kind.OVER_LIMIT:
            raise _not_comparable(folder / entry.name, entry.because)
        elif entry.kind in {Kind.LINK, Kind.SPECIAL} and fits(entry.name, fitting):
            raise _not_comparable(folder / entry.name, f"it is a {entry.kind}, not a plain file")


def _must_be_text(folder: Path, name: str) -> None:
    try:
        name.encode()
    except UnicodeEncodeError as error:
        raise _not_comparable(folder, f"the file name {name!r} is not UTF-8") from error


def _not_comparable(place: Path, because: str) -> MetricsError:
    return MetricsError(
        f"an output cannot be compared: {because}",
        where=str(place),
        fix="correct `outputs` or `collect` in the recipe, or what the program leaves there",
    )


def fits(name: str, patterns: Sequence[str]) -> bool:
    """Whether a file is meant by one of some patterns, by its own name or that of a folder above it."""
    return any(fnmatchcase(name, pattern) for pattern in patterns) or _is_collected(name, patterns)


def _is_collected(name: str, places: Sequence[str]) -> bool:
    paths = (PurePosixPath(name), *PurePosixPath(name).parents)
    return any(fnmatchcase(path.as_posix(), place.rstrip("/")) for path in paths for place in places)


def _is_written(path: Path, original: Path) -> bool:
    """Whether the run wrote a file, equal content included: the working copy keeps the time stamps."""
    if not original.is_file() or path.stat().st_mtime_ns != original.stat().st_mtime_ns:
        return True
    return not filecmp.cmp(path, original, shallow=False)


def places_of(folder: Path) -> dict[str, str]:
    """Paths of the run as its program saw them on this host → what stands for them."""
    found = {RUN_DIR: "{run_dir}", f"{RUN_DIR}/{WORK}": "{project}", f"{MOUNTS}/{PROGRAM_MOUNT}": "{project}"}
    for name in {str(folder.resolve()), str(folder.absolute())}:
        found |= {f"{name}/{OUTPUT}/{WORK}": "{project}", f"{name}/{OUTPUT}": "{run_dir}"}
        found |= {f"{name}/{PROGRAM}": "{project}"}
    return {**found, folder.name: "{run_id}"}
