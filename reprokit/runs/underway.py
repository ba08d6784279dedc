"""Runs that are under way, here or on other machines: how far they are, read from their folders alone."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reprokit import file_tree
from reprokit.core.comparing.metric_names import RESULT_WORDS
from reprokit.core.run_record import RunRecord
from reprokit.layout import MARKER, METRICS, OUTPUT, RECORD, TIMING
from reprokit.records import run_json
from reprokit.runs.log_tail import last_object, last_objects
from reprokit.runs.reading import files_two_below
from reprokit.workspace import is_alive

_TAIL_BYTES = 64 << 10
_MOST_FILES = 200
#: A metric whose curve a person looks at, the first of them first.
_HEADLINES = (*RESULT_WORDS, "loss")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunUnderWay:
    """One run that is under way. Every text comes from a file that anyone may have written."""

    recipe: str
    run_id: str
    seed: int | None
    where: str  # `local`, `ray` or `slurm`, and the machine where it is not this one
    elapsed_s: float | None  # since it began
    silent_s: float | None  # since it last wrote into its log
    step: int | None
    total: int | None  # of how many steps, where the run says it
    steps_per_s: float | None
    metric: str  # its name, or ""
    value: float | None
    curve: tuple[float, ...]  # the metric's last values
    path: str


def under_way(runs_dir: Path, *, now_s: float, metric: str | None = None) -> list[RunUnderWay]:
    """The runs that no one has ended yet, in the order in which they began.

    Args:
        runs_dir: The folder of run folders.
        now_s: The time, in seconds since the epoch.
        metric: Whose values are shown; None for a return, a score, an accuracy or a loss.
    """
    found = []
    for recipe, run_id, path in files_two_below(runs_dir, RECORD):
        folder = Path(path)
        if (folder / MARKER).exists():
            continue
        record = run_json.recorded(folder)
        if record.state == "running" and is_alive(record.owner):
            found.append(_one(recipe, run_id, folder, record, now_s=now_s, metric=metric))
    return sorted(found, key=lambda one: (one.run_id, one.recipe))


def _one(
    recipe: str, run_id: str, folder: Path, record: RunRecord, *, now_s: float, metric: str | None
) -> RunUnderWay:
    log = _log(folder / OUTPUT)
    lines = last_objects(log, most_bytes=_TAIL_BYTES) if log else []
    timing = last_object(folder / OUTPUT / TIMING) or {}
    name = metric or _headline(lines[-1] if lines else {})
    curve = tuple(value for line in lines if (value := _number(line.get(name))) is not None)
    steps = [step for line in (*lines[-1:], timing) if (step := _whole(line.get("step"))) is not None]
    return RunUnderWay(
        recipe=recipe,
        run_id=run_id,
        seed=record.seed,
        where=_where(record),
        elapsed_s=_age(folder / RECORD, now_s=now_s),  # written as it begins, and next as it ends
        silent_s=_age(log, now_s=now_s),
        step=max(steps, default=None),
        total=_whole(timing.get("total_steps")),
        steps_per_s=_number(timing.get("steps_per_s")),
        metric=name if curve else "",
        value=curve[-1] if curve else None,
        curve=curve,
        path=str(folder),
    )


def _log(output: Path) -> Path | None:
    """The log that the run writes: ours, else the first of JSON lines that tells steps."""
    if (output / METRICS).is_file():
        return output / METRICS
    for entry in file_tree.walk(output, limits=file_tree.WalkLimits(entries=_MOST_FILES)):
        path = output / entry.name
        if (
            entry.kind is file_tree.Kind.FILE
            and path.suffix == ".jsonl"
            and "step" in (last_object(path) or {})
        ):
            return path
    return None


def _headline(line: Mapping[str, Any]) -> str:
    numbers = [name for name, value in line.items() if name != "step" and _number(value) is not None]
    named = [name for word in _HEADLINES for name in sorted(numbers) if word in name.lower()]
    return next(iter((*named, *numbers)), "")


def _where(record: RunRecord) -> str:
    elsewhere = record.where if record.where not in {None, "local"} else ""
    return f"{elsewhere} {record.machine.node}".strip() if elsewhere else "local"


def _age(log: Path | None, *, now_s: float) -> float | None:
    with suppress(OSError):
        return None if log is None else max(now_s - log.stat().st_mtime, 0.0)
    return None


def _whole(value: Any) -> int | None:
    return value if type(value) is int and value >= 0 else None


def _number(value: Any) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    with suppress(OverflowError):
        return float(value) if is_number and math.isfinite(value) else None
    return None
