"""A run with the taps preloaded: what its processes inherit, in place of nothing that they had."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from reprokit.core.records import Mount, RunSpec
from reprokit.execution.docker_config import RUN_DIR
from reprokit.harness.running.run_kinds import WATCH
from reprokit.harness.running.varying.apply_variations import in_container

#: Next to a run's output: the tables of its processes.
TABLES = "taps"
_INSIDE = Path(__file__).parent / "inside"
_PRELOAD, _PATHS = "LD_PRELOAD", "PYTHONPATH"


@dataclass(frozen=True, slots=True, kw_only=True)
class Taps:
    """What to preload.

    Attributes:
        library: The file.
        key: Hex, 128 bits: what held entropy is drawn from.
        now: When held clocks begin, seconds since the epoch.
        hold: What is held: of ``entropy``, ``clock``, ``threads``, ``locks`` and ``alone`` (compiled code
            starts no thread). Where nothing is, what happens inside calls whose results are kept is told
            apart from the rest.
    """

    library: Path
    key: str
    now: int
    hold: tuple[str, ...] = ()


def preloaded(spec: RunSpec, taps: Taps, *, stage: Path) -> RunSpec:
    """The run with the taps in its processes.

    Args:
        spec: The run, with the hook first on Python's path.
        taps: What to preload.
        stage: The run's folder while it runs.
    """
    mounts = spec.mounts
    if in_container(spec):
        library, inside = f"{{mounts}}/taps-library/{taps.library.name}", "{mounts}/taps-inside"
        tables = f"{RUN_DIR}/{WATCH}"
        own = {"taps-library": taps.library.parent, "taps-inside": _INSIDE}
        mounts = (*mounts, *(Mount(name=name, path=str(path.resolve())) for name, path in own.items()))
    else:
        folder = stage / TABLES
        folder.mkdir(exist_ok=True)
        library, inside, tables = str(taps.library), str(_INSIDE), str(folder.resolve())
    had = os.environ if spec.inherit_environment else {}
    variables = {**had, **spec.environment}
    added = {_PRELOAD: _first(library, variables, _PRELOAD), "REPROKIT_TAPS": tables}
    if taps.hold:
        added["REPROKIT_TAPS_HOLD"] = ",".join(taps.hold)
        added |= {"REPROKIT_TAPS_KEY": taps.key, "REPROKIT_TAPS_NOW": str(taps.now)}
    else:
        hook, *others = variables[_PATHS].split(os.pathsep)
        added[_PATHS] = os.pathsep.join([hook, inside, *others])
    return replace(spec, environment={**spec.environment, **added}, mounts=mounts)


def _first(path: str, variables: Mapping[str, str], name: str) -> str:
    """The value of a list of paths with one more before those that are there."""
    return os.pathsep.join([path, *filter(None, [variables.get(name, "")])])
