"""The folder ``checkpoints/`` of a run, checked against its ``MANIFEST.json``."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reprokit.errors import CheckpointError
from reprokit.layout import CHECKPOINTS, MANIFEST, OUTPUT
from reprokit.workspace import sha256_of

_NAME = re.compile(r"checkpoint_(0|[1-9][0-9]{0,17})\.pt", re.ASCII)
_RANDOM = ("python", "numpy", "torch")


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A file under ``checkpoints/``."""

    path: Path  # where it is
    step: int | None  # of a checkpoint; None of the final model and of a file that the manifest does not name
    sha256: str  # as it is now, `sha256:…`; "" when it is not there
    problem: str  # why it does not match the manifest, or ""


def folder_of(run_dir: Path) -> Path:
    """Where a run's checkpoints are; those of an unfinished run are still in ``output/``."""
    closed, left = run_dir / CHECKPOINTS, run_dir / OUTPUT / CHECKPOINTS
    return left if left.is_dir() and not closed.is_dir() else closed


def listed(folder: Path) -> list[Listed]:
    """Every file that is there or is listed, by step; the final model comes last.

    Raises:
        CheckpointError: The manifest is missing or cannot be read.
    """
    named = _manifest(folder, "files")
    there = {path.name for path in folder.glob("*.pt")} - set(_manifest(folder, "removed"))
    found = [_checked(folder / name, named.get(name)) for name in there | set(named)]
    return sorted(found, key=lambda one: (one.step is None, one.step or 0, one.path.name))


def removed(folder: Path) -> dict[str, Listed]:
    """Name → what the manifest says of checkpoints that were written and deleted again.

    Raises:
        CheckpointError: The manifest is missing or cannot be read.
    """
    return {
        name: Listed(
            path=folder / name, step=_step(entry), sha256=str(entry.get("sha256")), problem="it was not kept"
        )
        for name, entry in _manifest(folder, "removed").items()
    }


def last_whole(folder: Path) -> Listed:
    """The last whole checkpoint, from which a training can be resumed.

    Raises:
        CheckpointError: There is none.
    """
    whole = [one for one in listed(folder) if one.step is not None and not one.problem]
    if not whole:
        fix = "start the training again; logging.save_interval sets how often a checkpoint is written"
        raise CheckpointError("there is no whole checkpoint to resume from", where=str(folder), fix=fix)
    return whole[-1]


def problems_of(
    state: Mapping[Any, Any], *, num_envs: int | None = None, step: int | None = None
) -> list[str]:
    """What a checkpoint lacks for a training to be resumed bit for bit.

    ``num_envs`` environments must be in it, and the ``step`` that it is listed with; None where that is
    unknown.
    """
    found = [f"it has no {name}" for name in ("step", "extra") if name not in state]
    found += [f"it has no {name}" for name in ("model", "optimizer") if not state.get(name)]
    if step is not None and "step" in state and _step(state) != step:
        found.append(f"it holds step {state['step']!r:.40}, but is listed with step {step}")
    random = state.get("random")
    if not isinstance(random, Mapping):
        return [*found, "it has no random state"]
    found += [f"it has no random state of {name}" for name in _RANDOM if not random.get(name)]
    environments = random.get("environments")
    if not isinstance(environments, list):
        found.append("it has no environment states")
    elif num_envs is not None and len(environments) != num_envs:
        found.append(f"it has the states of {len(environments)} environments, expected {num_envs}")
    return found


def _manifest(folder: Path, part: str) -> Mapping[str, Any]:
    path = folder / MANIFEST
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        what = "the list of checkpoints cannot be read"
        raise CheckpointError(what, where=str(path), fix="name the folder of a run") from error
    files = value.get(part, {} if part != "files" else None) if isinstance(value, dict) else None
    if not isinstance(files, dict) or any(Path(name).name != name for name in files):
        fix = "name the folder of a run"
        raise CheckpointError("this is not a list of checkpoints", where=str(path), fix=fix)
    return {name: entry if isinstance(entry, dict) else {} for name, entry in files.items()}


def _checked(path: Path, entry: Mapping[str, Any] | None) -> Listed:
    known, named = _step(entry or {}), _NAME.fullmatch(path.name)
    if path.is_symlink() or not path.is_file():
        return Listed(path=path, step=known, sha256="", problem="it is listed but missing")
    sha256 = sha256_of(path)
    if entry is None:
        problem = "MANIFEST.json does not list it"
    elif entry.get("sha256") != sha256:
        problem = "it is not the file that MANIFEST.json lists: its SHA-256 differs"
    elif named and known != int(named[1]):  # sorted by its name all the same
        problem = f"MANIFEST.json lists it with step {known}, but its name says {named[1]}"
        known = int(named[1])
    else:
        problem = ""
    return Listed(path=path, step=known, sha256=sha256, problem=problem)


def _step(entry: Mapping[str, Any]) -> int | None:
    step = entry.get("step")
    return step if isinstance(step, int) and not isinstance(step, bool) else None
