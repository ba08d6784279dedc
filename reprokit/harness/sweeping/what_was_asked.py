"""What a sweep on other machines was asked for, kept so that ``runs attach`` can ask again."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reprokit import workspace
from reprokit.core.records import SCHEMA_VERSION
from reprokit.errors import ReportError
from reprokit.layout import ASKED, read_json
from reprokit.request import Request

_REQUEST = ("backend", "base", "timeout_s", "strict", "command")


def write_asked(folder: Path, asked: Mapping[str, Any], request: Request) -> None:
    """Keep the arguments of ``sweep``.

    Raises:
        WorkspaceError: The folder cannot be written.
    """
    told = {name: getattr(request, name) for name in _REQUEST}
    workspace.write_json(folder / ASKED, {"schema": SCHEMA_VERSION, "sweep": dict(asked), "request": told})


def read_asked(folder: Path) -> tuple[dict[str, Any], Request]:
    """The arguments of ``sweep``, but for the folders and the progress display.

    Raises:
        ReportError: The folder is not that of a sweep on other machines.
    """
    found = read_json(folder / ASKED)
    try:
        return dict(found["sweep"]), Request(**{name: found["request"][name] for name in _REQUEST})
    except (KeyError, TypeError) as error:
        raise ReportError(
            "this is no sweep on other machines",
            where=str(folder),
            fix="name one of runs/sweeps that has an asked.json, or give the `reprokit sweep` command again",
        ) from error
