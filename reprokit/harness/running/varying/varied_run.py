"""A run put under different conditions: environment, starter, emulator, and the hook.

The hook leaves its trace in the run folder. It shows what was in force, and where it varies nothing itself it
changes nothing.
"""

from __future__ import annotations

import json
import secrets
from dataclasses import replace
from pathlib import Path
from typing import Any

from reprokit.core.records import Mount, RunSpec
from reprokit.execution.docker_config import RUN_DIR
from reprokit.harness.running.programs.hooked_run import MOUNTED_HOOK, ORDERS, Places, hooked
from reprokit.harness.running.run_kinds import WATCH, VariedRun
from reprokit.harness.running.varying.apply_variations import (
    ELSEWHERE,
    JoinedVariations,
    changed,
    in_container,
    joined,
)
from reprokit.harness.running.varying.in_force import expected_of
from reprokit.instrumentation.reprokit_hook import LOOK, conditions
from reprokit.layout import OUTPUT

#: The orders in the run folder.
KEPT = "varied-orders.json"


def varied(spec: RunSpec, kind: VariedRun, *, runs_dir: Path) -> tuple[RunSpec, dict[str, bytes]]:
    """One run under the variations, and what must stand in its folder for that.

    Args:
        spec: The run as it would be without them.
        kind: What is varied.
        runs_dir: Where its folder will be.

    Raises:
        CannotRunError: A CPU is to be emulated, and there is no emulator.
    """
    joint = joined(kind.chosen)
    if joint.run_folder:
        spec = _in_folder(spec, f"{spec.run_id}-{joint.run_folder}", runs_dir)
    room: tuple[str, ...] = ()
    files: dict[str, bytes] = {}
    if kind.chosen or kind.watched:
        room = ("--folder", f"{{run_dir}}/{WATCH}")
        run_dir = runs_dir / spec.recipe / spec.run_id
        places = _places(spec, run_dir)
        orders = {
            **_orders(joint, places, level="vary" if kind.under_watch else LOOK),
            "expected": {one.name: expected_of(one) for one in kind.chosen},
            "before": {"0": {"cpu": conditions.cpu()}} if joint.cpu else {},
        }
        files[KEPT] = json.dumps(orders, indent=2).encode()
        spec = hooked(spec, places, environment={})
    spec = replace(spec, environment={**spec.environment, **joint.environment})
    return changed(spec, start=(*room, *joint.start), cpu=joint.cpu), files


def _in_folder(spec: RunSpec, run_id: str, runs_dir: Path) -> RunSpec:
    """The same run in a folder of another name."""
    before, after = (str(runs_dir / spec.recipe / name) for name in (spec.run_id, run_id))
    mounts = tuple(
        replace(mount, path=after + mount.path.removeprefix(before))
        if mount.path.startswith(before)
        else mount
        for mount in spec.mounts
    )
    return replace(spec, run_id=run_id, mounts=mounts)


def _places(spec: RunSpec, run_dir: Path) -> Places:
    container = in_container(spec)
    output = RUN_DIR if container else str((run_dir / OUTPUT).resolve())
    return Places(
        hook=MOUNTED_HOOK,
        orders=f"{{mounts}}/{ORDERS}",
        out=f"{output}/{WATCH}",
        output=output,
        replay=None,
        apart=ELSEWHERE if container else f"{output}/{WATCH}/elsewhere",
        mounts=(Mount(name=ORDERS, path=str(run_dir / KEPT)),),
    )


def _orders(joint: JoinedVariations, places: Places, *, level: str) -> dict[str, Any]:
    return {
        "out": places.out,
        "output": places.output,
        "key": secrets.token_hex(16),
        "pins": [],
        "replay": None,
        "replay_key": None,
        "vary": list(joint.vary),
        "serial": [],
        "level": level,
        "variables": list(joint.environment),
        "draws": False,
        "apart": places.apart,
    }
