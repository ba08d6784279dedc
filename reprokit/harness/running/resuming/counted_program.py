"""An unmodified program whose updates and checkpoints are counted from inside, and which is killed at one.

What counts them is a ``sitecustomize`` on the program's path; it writes what it has counted into the run's
folder, from where the host takes it before it looks for metrics.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from reprokit import file_tree
from reprokit.core.records import Mount, RunSpec
from reprokit.errors import CannotJudgeError
from reprokit.harness.running.run_kinds import StopPlace
from reprokit.layout import OUTPUT, PLACES

_INSIDE = Path(__file__).resolve().parent / "inside"
_MOUNT = "counting"
_WRITTEN = ".reprokit-places"
#: What ends a program at a place: it itself, or the kernel in the middle of a file.
SIGNALS = ("SIGKILL", "SIGXFSZ")


def counted(spec: RunSpec, place: StopPlace | None) -> RunSpec:
    """The run, counted; killed at the place where there is one."""
    orders = "look" if place is None else f"{place.kind}:{place.number}:{place.at_bytes}"
    inherited = os.environ.get("PYTHONPATH", "") if spec.inherit_environment else ""
    paths = [f"{{mounts}}/{_MOUNT}", *filter(None, [spec.environment.get("PYTHONPATH", inherited)])]
    added = {
        "PYTHONPATH": os.pathsep.join(paths),
        "REPROKIT_STOP": orders,
        "REPROKIT_STOP_DIR": "{run_dir}",
    }
    mount = Mount(name=_MOUNT, path=str(_INSIDE))
    return replace(spec, environment={**spec.environment, **added}, mounts=(*spec.mounts, mount))


def take_places(folder: Path) -> None:
    """Move what a run has counted out of the program's folder."""
    written = folder / OUTPUT / _WRITTEN
    if written.is_file() and not written.is_symlink():
        written.replace(folder / PLACES)
    elif written.is_symlink() or written.exists():
        file_tree.remove(written)


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """What a run has counted.

    Attributes:
        places: One a line: ``kind``, ``number``, ``updates``, of ``saved`` also ``bytes`` and ``file``.
        states: Updates that were made before → part of the state → digest.
    """

    places: tuple[Mapping[str, Any], ...]
    states: Mapping[int, Mapping[str, str]]

    @property
    def num_updates(self) -> int:
        """How many there were."""
        return sum(one["kind"] == "update" for one in self.places)


def read_places(folder: Path) -> Counted:
    """What a run has counted; empty where nothing was.

    Raises:
        CannotJudgeError: The file is damaged.
    """
    file = folder / PLACES
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    try:
        found = [json.loads(line) for line in lines]
        states = {one["updates"]: dict(one["parts"]) for one in found if one["kind"] == "state"}
        return Counted(places=tuple(one for one in found if one["kind"] != "state"), states=states)
    except (ValueError, KeyError, TypeError) as error:
        raise CannotJudgeError("what a run has counted cannot be read", where=str(file)) from error


def lost_parts(whole: Counted, resumed: Counted) -> tuple[str, ...]:
    """Which parts of the state a resumed run began with are not those of the whole run at that update.

    Which update that is follows from the parameters: where no update of the whole run began with them, they
    are what was lost.
    """
    first = next(iter(sorted(resumed.states)), None)
    if first is None or not whole.states:
        return ()
    begun = resumed.states[first]
    same = [parts for parts in whole.states.values() if parts["parameters"] == begun["parameters"]]
    if not same:
        return ("parameters",)
    fewest = min((_differing(parts, begun) for parts in same), key=len)
    state = tuple(name for name in fewest if name != "gradients")
    # Other gradients of the same parameters: they follow from what was lost, or other samples were read.
    return state if state or not fewest else ("samples",)


def begun_after(whole: Counted, resumed: Counted) -> int | None:
    """After how many updates of the whole run a resumed one began, by its state; None where no one knows."""
    first = next(iter(sorted(resumed.states)), None)
    begun = resumed.states.get(first) if first is not None else None
    return next((updates for updates, parts in sorted(whole.states.items()) if parts == begun), None)


def _differing(parts: Mapping[str, str], begun: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(name for name in sorted({*parts, *begun}) if parts.get(name) != begun.get(name))
