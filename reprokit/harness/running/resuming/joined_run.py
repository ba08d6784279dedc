"""A run that was interrupted and resumed, closed as one: the records up to the checkpoint, then its own.

What the interrupted run wrote after the checkpoint must be what the resumed one wrote again; where it is not,
the training does not resume exactly, and the run is no result. ``run.json`` keeps ``resumed_from``, with
``joined``: such a run counts as a member of a sweep, and never as the run of a golden or of a report.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from reprokit import workspace
from reprokit.core.evidence import is_integer
from reprokit.core.records import Outcome, RunResult
from reprokit.core.run_record import ResumedFrom, RunRecord
from reprokit.errors import ReportError
from reprokit.layout import METRICS, OUTPUT, RECORD, read_json, traces_of
from reprokit.records import run_json


def as_whole(record: RunRecord) -> RunRecord:
    """``run.json`` of a joined run as that of one that was never interrupted; any other as it is."""
    point = record.resumed_from
    if point is None or not point.joined:
        return record
    return record._replace(resumed_from=None, command=point.command)


def join_with_earlier(folder: Path, result: RunResult) -> RunResult:
    """Put the earlier records before those of a resumed run that completed and is not closed yet.

    Raises:
        ReportError: ``run.json`` is damaged, or does not say where the run began.
        WorkspaceError: The folder cannot be written.
    """
    record = run_json.read(folder)
    point, runs_dir = record.resumed_from, folder.parents[1]
    if point is None or point.run is None or point.step is None:
        raise ReportError("run.json does not say where the run began", where=str(folder), fix="run it again")
    joined = {}
    for name in (METRICS, *traces_of(record.world_size)):
        ours = _lines(folder / OUTPUT / name)
        earlier = _places(runs_dir / point.run, name)
        problem = _differing(earlier, ours, step=point.step) if earlier else ""
        before = _up_to(runs_dir, point, name)
        problem = problem or (_gap(before, ours) if ours or before else "")
        if problem:
            return replace(
                result,
                outcome=Outcome.ATTEMPTS_DIFFER,
                message=f"{name}: {problem} ({point.run}, resumed from {point.checkpoint})",
                remedy=f"reprokit diff {runs_dir / point.run} {folder}",
            )
        joined[name] = b"".join((*before, *ours))
    if not joined[METRICS]:
        what = "there are no records to be joined with those of the interrupted attempt"
        return replace(result, outcome=Outcome.ATTEMPTS_DIFFER, message=what, remedy="run it again")
    for name, content in joined.items():
        if content:
            workspace.write_atomic(folder / OUTPUT / name, content)
    written = read_json(folder / RECORD)
    written["resumed_from"] = {**written["resumed_from"], "joined": True}
    workspace.write_json(folder / RECORD, written)
    return result


def _up_to(runs_dir: Path, point: ResumedFrom, name: str) -> list[bytes]:
    """The lines of the interrupted attempts up to a checkpoint."""
    if point.run is None or point.step is None:
        return []
    folder = runs_dir / point.run
    earlier = run_json.recorded(folder).resumed_from
    before = _up_to(runs_dir, earlier, name) if earlier else []
    return [*before, *(line for line in _places(folder, name) if _step(line) <= point.step)]


def _differing(earlier: Sequence[bytes], ours: Sequence[bytes], *, step: int) -> str:
    """Where the interrupted attempt continued otherwise than the resumed run does; "" nowhere."""
    again = [line for line in earlier if _step(line) > step]
    for then, now in zip(again, ours, strict=False):
        if then != now:
            return f"the record of step {_step(then)} differs from the one before the interruption"
    return ""


def _gap(before: Sequence[bytes], ours: Sequence[bytes]) -> str:
    """Why the two halves do not make one whole; "" where they do."""
    steps = [_step(line) for line in (*before, *ours)]
    if not before or not ours or any(later < sooner for sooner, later in pairwise(steps)):
        return "the records before and after the checkpoint do not follow each other"
    widths = [later - sooner for sooner, later in pairwise([0, *steps])]
    seam = widths.pop(len(before))
    if widths and seam > max(widths):
        return f"records are missing between step {steps[len(before) - 1]} and {steps[len(before)]}"
    return ""


def _places(folder: Path, name: str) -> list[bytes]:
    found = next((path for path in (folder / name, folder / OUTPUT / name) if path.is_file()), None)
    return _lines(found) if found else []


def _lines(path: Path) -> list[bytes]:
    """Whole lines, each with its end."""
    if not path.is_file() or path.is_symlink():
        return []
    return [line for line in path.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]


def _step(line: bytes) -> int:
    step = json.loads(line).get("step")
    return step if is_integer(step) else -1
