"""Writes a record of the runtime: one JSON object a file, whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reprokit.errors import WorkspaceError


def write_record(path: Path, value: Mapping[str, Any]) -> None:
    """Write a record, in place of the one that is there.

    Raises:
        WorkspaceError: The disk is full, or the folder cannot be written.
    """
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        temporary.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")
        temporary.replace(path)
    except OSError as error:
        raise WorkspaceError(f"cannot be written: {error.strerror}", where=str(path)) from error
