"""Libraries of the extra ``data``, imported only where a file of their format is read."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from reprokit.errors import UsageError

_FIX = "pip install 'reprokit-verify[data]'"


def imported(module: str, *, package: str, path: Path) -> Any:
    """A module of an optional library.

    Args:
        module: ``h5py``, ``PIL.Image``, ``pyarrow.parquet``.
        package: What people call the library.
        path: The file that is to be read, for the message.

    Raises:
        UsageError: The library is not installed; the message names the extra that brings it.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise UsageError(f"{package} is not installed", where=str(path), fix=_FIX) from error
