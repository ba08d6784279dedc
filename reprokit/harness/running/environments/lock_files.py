"""The lock in a run's folder, read back as package → version; only its digest makes it the run's own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from reprokit import layout, workspace
from reprokit.core.evidence import fact
from reprokit.core.run_record import RunRecord
from reprokit.errors import ImageError
from reprokit.images import packages

if TYPE_CHECKING:
    from reprokit.core.environment_record import EnvironmentRecord


def locked_versions(folder: Path, record: RunRecord, environment: EnvironmentRecord) -> dict[str, str] | None:
    """What the lock of a run's environment names for the machine and Python that it had.

    Args:
        folder: The run folder.
        record: Its ``run.json``.
        environment: Its ``environment.json``.

    Returns:
        Normalised package → version; None where the lock is not at hand: a run that kept no copy,
        a copy of another digest than the record's, or a record that lacks machine or Python.
    """
    path = folder / layout.LOCK
    machine, python = fact(environment, "inside.cpu.architecture"), fact(environment, "inside.python.minor")
    known = isinstance(machine, str) and isinstance(python, str) and path.is_file() and not path.is_symlink()
    if not known or not record.image or workspace.sha256_of(path) != record.image.lock_digest:
        return None
    target = packages.Target(machine=str(machine), python=str(python))
    try:
        wanted = packages.packages_for(packages.read_packages(path), target)
    except ImageError:
        return None
    return {package.name: package.version for package in wanted}
