"""What says which training a stored run was: its ``run.json`` and its ``config.yaml``.

``core.comparability`` compares them; here they are read.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from reprokit import recipes, runs
from reprokit.core.verdicts.comparability import Identity, identity
from reprokit.layout import CONFIG


def identity_of(stored: runs.StoredRun) -> Identity:
    """The identity of a run, as ``core.comparability`` compares it."""
    return identity(stored.record, config=config_of(stored.path))


def config_of(folder: Path) -> dict[str, Any] | None:
    """``config.yaml`` of a run folder; None where there is none."""
    path = folder / CONFIG
    return recipes.read_mapping(path) if path.is_file() else None
