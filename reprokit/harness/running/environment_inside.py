"""What an environment says of itself, asked in it before an unmodified program starts there.

A trainer's runtime tells this from inside its run. An unmodified program tells nothing, so the probe runs by
itself: the same image or virtual environment, variables, limits and mounts, in a process of its own.
"""

from __future__ import annotations

import json
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from reprokit.capture import probe
from reprokit.capture.interpreter import find_python
from reprokit.core import numerics
from reprokit.core.records import Mount, RunSpec
from reprokit.errors import CannotRunError
from reprokit.execution import Backend
from reprokit.layout import OUTPUT, STDERR, STDOUT
from reprokit.runtime import settings

_PROBE = "probe.py"
_LONGEST_S = 180.0


def inside_of(spec: RunSpec, *, backend: Backend) -> dict[str, Any]:
    """The facts about the environment that a run would have.

    Args:
        spec: The run.
        backend: What would run it.

    Raises:
        CannotRunError: The environment's Python does not start, or gives no answer.
    """
    asked = replace(
        spec,
        command=(
            "{python}" if spec.realisation else find_python(spec.command) or sys.executable,
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
    return {**facts, "numerics": held}


def _nothing() -> None:
    """Nothing to show meanwhile."""
