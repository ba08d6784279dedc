"""Varied, stopped and resumed runs made of the pair's first run, as the tool would have left them.

They are made once, before anything is planted: equal to the first run in every number.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from reprokit import checkpoints
from reprokit.errors import CheckpointError
from reprokit.features.selftest.planting import Stage, link_or_copy, read_object
from reprokit.layout import CHECKPOINTS, MARKER, METRICS, RECORD, TRACE
from reprokit.runs.listing import key_of

_MANIFEST = "checkpoints/MANIFEST.json"
VARIED, STOPPED, RESUMED = "varied", "stopped", "resumed"


def made_of(stage: Stage) -> dict[str, Path]:
    """Make what the first run of the stage has a place for: name → folder."""
    first = stage.runs[0]
    return {**_varied(stage, first), **_halves(stage, first)}


def _varied(stage: Stage, first: Path) -> dict[str, Path]:
    names = read_object(first / RECORD).get("recipe_data", {}).get("immune_to")
    if not names:
        return {}
    told = {"names": names, "watched": False, "held": {}, "unmade": {}}
    return {VARIED: _copied(stage, first, VARIED, {"varied": told})}


def _halves(stage: Stage, first: Path) -> dict[str, Path]:
    """Killed at the first record after a checkpoint, on from there; None where none lies in the middle."""
    try:
        there = checkpoints.listed(first / CHECKPOINTS)
    except CheckpointError:
        return {}
    steps = sorted({int(json.loads(line)["step"]) for line in _lines(first / METRICS)})
    middle = [one for one in there if one.step is not None and not one.problem and one.step < steps[-1]]
    if not middle or there[-1].step is not None:
        return {}
    point = middle[0]
    last = next(step for step in steps if step > (point.step or 0))
    stopped = _copied(
        stage,
        first,
        STOPPED,
        {"outcome": "signalled", "signal": "SIGKILL", "exit_code": None},
        marker=False,
    )
    _keep(stage, stopped, lambda step: step is not None and step <= last)
    _keep_checkpoints(stage, stopped, {one.path.name for one in there if (one.step or last) < last})
    resumed_from = {
        "run": key_of(stopped.resolve()),
        "checkpoint": point.path.name,
        "step": point.step,
        "sha256": point.sha256,
    }
    resumed = _copied(stage, first, RESUMED, {"resumed_from": resumed_from})
    _keep(stage, resumed, lambda step: step is not None and step > (point.step or 0))
    later = {one.path.name for one in there if one.step is None or one.step > (point.step or 0)}
    _keep_checkpoints(stage, resumed, later)
    stage.seal(resumed)
    return {STOPPED: stopped, RESUMED: resumed}


def _copied(stage: Stage, first: Path, name: str, facts: Mapping[str, Any], *, marker: bool = True) -> Path:
    folder = first.with_name(f"{first.name}-{name}")
    shutil.copytree(first, folder, symlinks=True, copy_function=link_or_copy)
    record = read_object(folder / RECORD)
    stage.write_json(folder / RECORD, {**record, "run_id": folder.name, **facts})
    if marker:
        stage.seal(folder)
    else:
        (folder / MARKER).unlink()
    return folder


def _keep(stage: Stage, folder: Path, wanted: Callable[[int | None], bool]) -> None:
    for name in (METRICS, TRACE):
        if (folder / name).is_file():
            lines = [line for line in _lines(folder / name) if wanted(json.loads(line).get("step"))]
            stage.write(folder / name, b"".join(lines))


def _keep_checkpoints(stage: Stage, folder: Path, names: set[str]) -> None:
    told = read_object(folder / _MANIFEST)
    for path in (folder / CHECKPOINTS).glob("*.pt"):
        if path.name not in names:
            path.unlink()
    files = {name: entry for name, entry in told["files"].items() if name in names}
    stage.write_json(folder / _MANIFEST, {**told, "files": files})


def _lines(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)
