"""What a newer version of reprokit wrote is refused as that, and not called damaged."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from reprokit import __version__
from reprokit.core.records import SCHEMA_VERSION
from reprokit.errors import UsageError

_FIX = "use that version, or a newer one: pip install --upgrade reprokit-verify"


def refuse_newer_schema(schema: object, *, name: str, where: str, error: type[UsageError]) -> None:
    """Do nothing with a schema that this version knows, or that is none.

    Raises:
        UsageError: It is a later one; an ``error`` of the file's kind.
    """
    if type(schema) is int and schema > SCHEMA_VERSION:
        raise error(
            f"{name} was written by a newer version of reprokit, with schema {schema}",
            where=where,
            expected=f"schema {SCHEMA_VERSION}",
            fix=_FIX,
        )


def refuse_newer_tool(data: Mapping[str, Any], *, name: str, where: str, error: type[UsageError]) -> None:
    """Do nothing with a file that says that this version, or an earlier one, wrote it, or not which.

    Raises:
        UsageError: A later one did; an ``error`` of the file's kind.
    """
    tool = data.get("tool")
    version = tool.get("version") if isinstance(tool, Mapping) else tool
    if isinstance(version, str) and _numbers(version) > _numbers(__version__):
        raise error(
            f"{name} was written by a newer version of reprokit, {version[:40]}, and has what this one lacks",
            where=where,
            expected=f"reprokit {__version__} or older",
            fix=_FIX,
        )


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d{1,9}", version.partition("+")[0])[:4])
