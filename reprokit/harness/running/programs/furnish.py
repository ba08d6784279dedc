"""The folder of a program that runs alongside runs: it has the same files, and is no run folder."""

from __future__ import annotations

from pathlib import Path

from reprokit.harness.running.plan import RunPlan
from reprokit.harness.running.programs import program_output
from reprokit.layout import OUTPUT


def furnish(folder: Path, plan: RunPlan) -> None:
    """Write what stands in a run's folder before it starts, but for its records.

    Raises:
        OSError: It cannot be written.
    """
    (folder / OUTPUT).mkdir(parents=True)
    for name, content in plan.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    for name in plan.executables:
        (folder / name).chmod(0o755)
    if plan.program is not None:
        program_output.make_working_copy(folder, plan.program)
