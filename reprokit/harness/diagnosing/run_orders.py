"""What an instrumented run is told: its hash seed, the orders of the hook, and how the program is started."""

from __future__ import annotations

import os
import secrets
from dataclasses import replace
from pathlib import Path
from typing import Any

from reprokit import diagnosis
from reprokit.core.records import RunSpec
from reprokit.harness.diagnosing.conditions import Conditions
from reprokit.harness.diagnosing.loaded_hook import keep_hook
from reprokit.harness.diagnosing.restoring.with_state import with_state
from reprokit.harness.diagnosing.taps.preloaded import preloaded
from reprokit.harness.running.programs.hooked_run import HASH_SEED, Places, hooked, own_mounts
from reprokit.harness.running.varying.apply_variations import changed


def hash_seed_of(spec: RunSpec, given: Conditions) -> str:
    """Python's hash seed in a run: one that is given or fixed, else a new one."""
    if HASH_SEED in given.environment:
        return given.environment[HASH_SEED]
    if given.hash_seed and given.like is not None:
        return given.like.hash_seed
    inherited = os.environ.get(HASH_SEED, "") if spec.inherit_environment else ""
    fixed = spec.environment.get(HASH_SEED, inherited)
    return fixed if fixed not in {"", "random"} else str(1 + secrets.randbelow(2**32 - 2))


def orders_of(given: Conditions, places: Places, *, key: str, level: str, draws: bool) -> dict[str, Any]:
    """The orders of the hook.

    Args:
        given: The conditions of the run.
        places: As the program sees them.
        key: What its random values are drawn from.
        level: What is recorded where the conditions do not say otherwise.
        draws: Whether every operation of PyTorch is checked for draws from an unseeded generator.
    """
    return {
        "out": places.out,
        "output": places.output,
        "key": key,
        "pins": list(given.pins),
        "replay": places.replay,
        "replay_key": given.like.key if given.like else None,
        "vary": list(given.vary),
        "serial": list(given.serial),
        "level": level if given.level == "light" else given.level,
        "variables": list(given.environment),
        "draws": draws,
        "calls": dict(given.calls),
        "apart": places.apart,
        "progress": dict(given.progress) or (diagnosis.schedules(given.like.trace) if given.like else {}),
    }


def hooked_spec(
    spec: RunSpec,
    given: Conditions,
    places: Places,
    *,
    stage: Path,
    stand_ins: Path,
    hash_seed: str,
    limit_s: float | None,
) -> RunSpec:
    """The run of a program with the hook in it, under these conditions.

    Args:
        spec: The program's own run.
        given: The conditions.
        places: As the program sees them.
        stage: The run's folder while it runs.
        stand_ins: Where stand-ins of Python are made, which load the hook.
        hash_seed: Python's.
        limit_s: How long it may take, or None.
    """
    made = own_mounts(spec, stage)
    made = made if given.seed is None else replace(made, seed=given.seed)
    made = replace(made, command=(*(given.command or made.command), *given.words))
    made = hooked(made, places, environment={HASH_SEED: hash_seed, **given.environment})
    if given.taps is not None:
        made = preloaded(made, given.taps, stage=stage)
    if given.state:
        made = with_state(made, given.state, out=places.out, stage=stage)
    if not given.cpu:  # an emulated Python has to be the first word itself
        made = keep_hook(made, hook=places.hook, folder=stand_ins)
    made = replace(made, limits=replace(made.limits, timeout_s=limit_s))
    return changed(made, start=given.start, cpu=given.cpu)


def shown_places(spec: RunSpec, given: Conditions, output: str) -> dict[str, str]:
    """What stands for the run's own paths: of its folder, and of a home and temporary files that vary."""
    inherited = os.environ if spec.inherit_environment else {}
    own = {**inherited, **spec.environment, **given.environment}
    named = {own.get(name, ""): f"{{{name}}}" for name in ("HOME", "TMPDIR")}
    return {**named, output: "{run_dir}", str(Path(output).parent): "{run_dir}"}
