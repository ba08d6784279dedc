"""The lock of a run's environment: kept in the run's folder, and read back as package → version.

This module knows where the copy lies and that only its digest makes it the run's own; it refuses
to know what is installed. With the copy, a run folder alone says what should have been installed,
whatever has become of ``images/`` since.

    >>> locked_versions(Path("runs/cartpole_baseline/T-seed42-1"), record, environment)["torch"]
    '2.13.0+cpu'
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reprokit import workspace
from reprokit.core.evidence import fact
from reprokit.core.records import Realisation
from reprokit.errors import ImageError
from reprokit.images import locks, packages

#: Where a recipe's run keeps the lock of its environment.
COPY = "source/requirements.lock"


def copy_of_lock(realisation: Realisation, *, project: Path) -> dict[str, bytes]:
    """The lock as a file of the run folder; none where it is no longer what the environment is of.

    Args:
        realisation: The environment that the runs share.
        project: The folder that holds ``images/``.

    Returns:
        Relative name → content, as ``runs.create`` takes it.

    Raises:
        ImageError: ``images/`` cannot be read.
    """
    path = locks.read_lock(project).variant(realisation.variant).packages_path
    known = packages.digest_of(path) == realisation.lock_digest
    return {COPY: path.read_bytes()} if known else {}


def locked_versions(
    folder: Path, record: Mapping[str, Any], environment: Mapping[str, Any]
) -> dict[str, str] | None:
    """What the lock of a run's environment names for the machine and Python that it had.

    Args:
        folder: The run folder.
        record: Its ``run.json``.
        environment: Its ``environment.json``.

    Returns:
        Normalised package → version; None where the lock is not at hand: a run that kept no copy,
        a copy of another digest than the record's, or a record that lacks machine or Python.
    """
    path = folder / COPY
    machine, python = fact(environment, "inside.cpu.architecture"), fact(environment, "inside.python.minor")
    known = isinstance(machine, str) and isinstance(python, str) and path.is_file() and not path.is_symlink()
    if not known or workspace.sha256_of(path) != fact(record, "image.lock_digest"):
        return None
    target = packages.Target(machine=str(machine), python=str(python))
    try:
        wanted = packages.packages_for(packages.read_packages(path), target)
    except ImageError:
        return None
    return {package.name: package.version for package in wanted}
