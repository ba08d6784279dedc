"""How far a run is, by what stands in its folder while it runs."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reprokit import file_tree
from reprokit.layout import METRICS, OUTPUT, STDERR, STDOUT, TIMING
from reprokit.records import run_json
from reprokit.runs.log_tail import last_object
from reprokit.session import Progress

_MAX_WATCHED = 200
_MOST_EARLIER = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierRun:
    """What the newest whole run of a recipe says of the next: how long it took, and its last step."""

    duration_s: float | None = None
    last_step: int | None = None


def earlier_run(folder: Path) -> EarlierRun:
    """The newest whole run next to a run folder, of the same seed's recipe and settings."""
    own = run_json.recorded(folder)
    with suppress(OSError):
        names = sorted(
            (one.name for one in os.scandir(folder.parent) if one.name < folder.name), reverse=True
        )
        for name in names[:_MOST_EARLIER]:
            record = run_json.recorded(folder.parent / name)
            if record.completed and record.is_whole and record.modified == own.modified:
                step = (last_object(folder.parent / name / METRICS) or {}).get("step")
                return EarlierRun(duration_s=record.duration_s, last_step=_whole(step))
    return EarlierRun()


def tell_of(progress: Progress, label: str, folder: Path, *, earlier: EarlierRun = EarlierRun()) -> None:
    """Say how far a run is, by what stands in its folder, and by how far an earlier one went."""
    line = last_object(folder / OUTPUT / TIMING)
    if line and isinstance(line.get("step"), int):
        progress.update(
            label,
            line["step"],
            line.get("total_steps"),
            steps_per_s=line.get("steps_per_s"),
            eta_s=line.get("eta_s"),
        )
        return
    files = _output(folder)
    step = _logged_step(files)
    if step is not None:
        progress.update(label, step, earlier.last_step, steps_per_s=None, eta_s=None)
    else:
        progress.alive(label, _left_so_far(folder, files), expected_s=earlier.duration_s)


def _logged_step(files: Iterable[Path]) -> int | None:
    """The step that stands on the last line of a log of JSON lines."""
    logs = (file for file in files if file.suffix == ".jsonl")
    steps = (_whole((last_object(file) or {}).get("step")) for file in logs)
    return next((step for step in steps if step is not None), None)


def _whole(step: Any) -> int | None:
    return step if type(step) is int and step >= 0 else None


def _output(folder: Path) -> list[Path]:
    found = file_tree.walk(folder / OUTPUT, limits=file_tree.WalkLimits(entries=_MAX_WATCHED))
    return [folder / OUTPUT / entry.name for entry in found if entry.kind is file_tree.Kind.FILE]


def _left_so_far(folder: Path, files: Iterable[Path]) -> str:
    """How much a program has written and printed: a sign of life where it tells no steps."""
    return f"{_size(files)} written, {_size([folder / STDOUT, folder / STDERR])} printed"


def _size(paths: Iterable[Path]) -> str:
    total = 0
    with suppress(OSError):  # a program may remove files while they are counted
        for path in paths:
            total += path.stat().st_size if path.is_file() else 0
    return f"{total / 1e6:,.1f} MB" if total >= 1e6 else f"{total / 1e3:.1f} kB"
