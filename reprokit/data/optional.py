"""Libraries of the extra ``data``, imported only where a file of their format is read."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from reprokit import extras
from reprokit.errors import MissingExtraError


def imported(module: str, *, package: str, path: Path) -> Any:
    """A module of an optional library.

    Args:
        module: ``h5py``, ``PIL.Image``, ``pyarrow.parquet``.
        package: What people call the library.
        path: The file that is to be read, for the message.

    Raises:
        MissingExtraError: The library is not installed; the message names the extra that brings it.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        fix = extras.install_line("data")
        raise MissingExtraError(f"{package} is not installed", where=str(path), fix=fix) from error
