"""What an environment says of itself, asked in it before an unmodified program starts there.

A trainer's runtime tells this from inside its run. An unmodified program tells nothing, so the probe runs by
itself: the same image or virtual environment, variables, limits and mounts, in a process of its own.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from reprokit.capture import probe
from reprokit.capture.interpreter import not_asked
from reprokit.capture.python_of_command import PythonStart, start_of
from reprokit.core import numerics
from reprokit.core.environment_record import InsideFacts
from reprokit.core.environments.cpu_features import (
    VARIABLE,
    is_avx512,
    names_to_switch_off,
    value_of_profile,
)
from reprokit.core.records import Mount, RunSpec
from reprokit.errors import CannotRunError
from reprokit.execution import Backend
from reprokit.layout import OUTPUT, STDERR, STDOUT
from reprokit.runtime import settings

if TYPE_CHECKING:
    from reprokit.core.environment_record import InsideFacts

_PROBE = "probe.py"
_LONGEST_S = 180.0


def inside_of(spec: RunSpec, *, backend: Backend) -> InsideFacts:
    """The facts about the environment that a run would have.

    Args:
        spec: The run. Where nothing pins its environment, its Python is the one that its command starts, and
            what is said of one that is not known is that.
        backend: What would run it.

    Raises:
        CannotRunError: The environment's Python does not start, or gives no answer.
    """
    start = None if spec.realisation else _start_of(spec)
    if start is not None and start.unknown:
        return {**not_asked(start.unknown), "device": {"kind": spec.device}}
    asked = replace(
        spec,
        command=(
            *(start.words if start else ["{python}"]),
            f"{{mounts}}/{_PROBE}",
            "--torch",
            "--device",
            spec.device,
        ),
        mounts=(Mount(name=_PROBE, path=str(Path(probe.__file__).resolve())),),
        working_dir=None,
        limits=replace(spec.limits, timeout_s=_LONGEST_S),
    )
    with tempfile.TemporaryDirectory(prefix="reprokit-probe-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / OUTPUT).mkdir()
        result = backend.run(asked, folder, on_tick=_nothing)
        answer, said = ((folder / log).read_text("utf-8", "replace") for log in (STDOUT, STDERR))
    lines = answer.splitlines()
    try:
        facts = json.loads(lines[-1]) if result.completed and lines else None
    except ValueError:
        facts = None
    if not isinstance(facts, dict):
        last = next(iter(reversed(said.strip().splitlines())), "no message")
        raise CannotRunError(
            "the environment does not say what is in it",
            actual=result.message or last,
            fix=result.remedy or "`reprokit doctor` looks at what is needed",
        )
    variables = spec.environment
    held = settings.verify(profile=variables.get(numerics.MARK), facts=facts, at_start=variables)
    told = {**facts, "numerics": _by_numpys_own_names(held, facts, variables)}
    return cast("InsideFacts", told)


def _start_of(spec: RunSpec) -> PythonStart:
    folder, path = Path(spec.working_dir or "."), spec.environment.get("PATH")
    return start_of(spec.command, folder=folder.absolute(), path=path, in_copy=True)


def _by_numpys_own_names(
    held: dict[str, Any], facts: Mapping[str, Any], variables: Mapping[str, str]
) -> dict[str, Any]:
    """What was in force, where numpy has other names for its features than the profile's table."""
    features = (facts.get("numpy") or {}).get("cpu_features")
    if VARIABLE not in held["requested"] or not isinstance(features, Mapping):
        return held
    left = [str(name) for name in features.get("in_force") or () if is_avx512(str(name))]
    given = variables.get(VARIABLE)
    missing = [one for one in held["missing"] if one["name"] != VARIABLE]
    if left or given not in {value_of_profile(), names_to_switch_off(features)}:
        actual = f"still in force: {', '.join(left)}" if left else given
        why = "numpy uses what the profile switches off: this numpy has different names for it"
        missing.append(
            {"name": VARIABLE, "expected": names_to_switch_off(features), "actual": actual, "why": why}
        )
    return {**held, "requested": {**held["requested"], VARIABLE: given}, "missing": missing}


def _nothing() -> None:
    """Nothing to show meanwhile."""
