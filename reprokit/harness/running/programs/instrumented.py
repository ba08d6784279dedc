"""Runs of a program that its recipe has watched: the hook on its path, and what it saw brought home.

The hook leaves its records in a folder of the program's (``WATCH``). After the program has ended the host
makes ``instrument.json`` and ``trace.jsonl`` of them and removes that folder: nothing of it counts as output.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Any

from reprokit import file_tree, workspace
from reprokit.capture import probe
from reprokit.core.records import SCHEMA_VERSION, Mount, RunSpec
from reprokit.errors import WorkspaceError
from reprokit.harness.running.plan import RunPlan
from reprokit.harness.running.programs.hooked_run import MOUNTED_HOOK, Places, hooked
from reprokit.harness.running.programs.program_output import places_of
from reprokit.harness.running.run_kinds import WATCH
from reprokit.layout import INSTRUMENT, OUTPUT, TRACE, read_json

#: In place of a file of orders: this hook has none.
_LIGHT = "light"
_PROBE = "probe.py"
_RECORD = re.compile(r"light-([0-9a-z.]+)\.json")
_MOST_PROCESSES = 4_096
_MOST_TRACE_BYTES = 1 << 30
_PYTHON = re.compile(r"python[0-9.]*")


def instrumented(plan: RunPlan) -> RunPlan:
    """The plan with every run watched, but for one that is watched otherwise already."""
    return replace(plan, specs=tuple(map(_hooked, plan.specs)))


def _hooked(spec: RunSpec) -> RunSpec:
    if "REPROKIT_HOOK" in spec.environment:
        return spec
    places = Places(
        hook=MOUNTED_HOOK,
        orders=_LIGHT,
        out=f"{{run_dir}}/{WATCH}",
        output="{run_dir}",
        replay=None,
        apart="",
        mounts=(Mount(name=_PROBE, path=str(Path(probe.__file__).resolve())),),
    )
    variables = {"REPROKIT_HOOK_OUT": places.out, "REPROKIT_HOOK_PROBE": f"{{mounts}}/{_PROBE}"}
    return hooked(spec, places, environment=variables)


def is_watched(spec: RunSpec) -> bool:
    """Whether a run has the hook of ``instrument: light``."""
    return spec.environment.get("REPROKIT_HOOK") == _LIGHT


def make_trace_folder(spec: RunSpec, folder: Path) -> None:
    """Make the folder that the hook writes to; whoever the program is in a container may write to it."""
    if is_watched(spec):
        traces = folder / OUTPUT / WATCH
        traces.mkdir()
        traces.chmod(0o777)


def collect_records(spec: RunSpec, folder: Path) -> None:
    """Write ``instrument.json`` and ``trace.jsonl`` of what the hook left, and remove that.

    Raises:
        WorkspaceError: The folder cannot be written.
    """
    traces = folder / OUTPUT / WATCH
    if not is_watched(spec) or traces.is_symlink() or not traces.is_dir():
        return
    try:
        found = dict(_records(traces))
        own = [f"{path}/" for path, name in places_of(folder).items() if name == "{project}"]
        own.sort(key=len, reverse=True)
        record = {
            "schema": SCHEMA_VERSION,
            "is_python": _is_python(spec.command, found.get("0", {}).get("started_as")),
            "processes": {name: _relative(one, own) for name, one in found.items()},
        }
        workspace.write_json(folder / INSTRUMENT, record)
        _join_traces(traces, sorted(found), folder / TRACE)
        file_tree.remove(traces)
    except OSError as error:
        raise workspace.cannot_write(folder, error) from error


def _records(traces: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """What each process left: its name, its record. Links and special files are not followed."""
    names = sorted(entry.name for entry in file_tree.walk(traces) if entry.kind is file_tree.Kind.FILE)
    for name in names[: 3 * _MOST_PROCESSES]:
        match = _RECORD.fullmatch(name)
        record = read_json(traces / name) if match is not None else {}
        if match is not None and record:
            yield match[1], record


def _relative(value: Any, prefixes: Sequence[str]) -> Any:
    """The same with the program's own files named from the project's folder."""
    if isinstance(value, Mapping):
        return {key: _relative(one, prefixes) for key, one in value.items()}
    if isinstance(value, list):
        return [_relative(one, prefixes) for one in value]
    if isinstance(value, str):
        fitting = (prefix for prefix in prefixes if value.startswith(prefix))
        return value.removeprefix(next(fitting, ""))
    return value


def _is_python(command: Sequence[str], started_as: Any) -> bool:
    """Whether the program that the recipe starts is the first one that was watched, and no other's child.

    >>> _is_python(["python", "train.py", "{seed}"], ["/usr/bin/python3", "train.py", "7"])
    True
    >>> _is_python(["sh", "-c", "python train.py"], ["python", "train.py"])
    False
    """
    if not isinstance(started_as, list) or not all(isinstance(word, str) for word in started_as):
        return False
    first, *words = command
    own = "python" if first == "{python}" else PurePath(first).name
    if not _PYTHON.fullmatch(own):  # a script that names Python in its first line
        at = next((n for n, word in enumerate(started_as) if n and not word.startswith("-")), 0)
        return bool(at) and PurePath(started_as[at]).name == own and _same_words(words, started_as[at + 1 :])
    return bool(started_as) and _same_words(words, started_as[1:])


def _same_words(planned: Sequence[str], actual: Sequence[str]) -> bool:
    """Whether two command lines are the same, but for words with a placeholder."""
    return len(planned) == len(actual) and all(
        "{" in one or one == other for one, other in zip(planned, actual, strict=True)
    )


def _join_traces(traces: Path, processes: Sequence[str], target: Path) -> None:
    """One trace of all processes, in the order of their names; none where no one took a step."""
    parts = [traces / f"light-{name}.trace" for name in processes]
    parts = [part for part in parts if part.is_file() and not part.is_symlink()]
    if not parts:
        return
    if sum(part.stat().st_size for part in parts) > _MOST_TRACE_BYTES:
        raise WorkspaceError(
            f"the trace is larger than {_MOST_TRACE_BYTES >> 30} GiB",
            where=str(target),
            fix="leave out `instrument: light`, or train less",
        )
    partial = target.with_name(f".{target.name}.new")
    try:
        with partial.open("wb") as joined:
            for part in parts:
                with part.open("rb") as lines:
                    shutil.copyfileobj(lines, joined)
            joined.flush()
            os.fsync(joined.fileno())
        partial.replace(target)
    finally:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)


def record_for_another(folder: Path, *, run: Mapping[str, Any]) -> bytes:
    """What a run with another seed showed, as a file of the runs that are compared with it."""
    content = {"run": dict(run), "instrument": read_json(folder / INSTRUMENT)}
    return json.dumps(content, indent=1).encode()
