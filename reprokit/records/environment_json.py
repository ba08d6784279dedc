"""``environment.json``, read: as an ``EnvironmentRecord``, or refused with the reason."""

from __future__ import annotations

from pathlib import Path

from reprokit.core.environment_record import EnvironmentRecord
from reprokit.errors import ReportError
from reprokit.layout import ENVIRONMENT
from reprokit.records import json_file
from reprokit.records.strict import FormError, typed

_FIX = "run the recipe again; `reprokit runs list` shows the other runs"


def recorded(folder: Path) -> EnvironmentRecord:
    """What the ``environment.json`` of a run folder says; empty where there is none that can be believed."""
    try:
        return json_file.read(folder / ENVIRONMENT, EnvironmentRecord, fix=_FIX)
    except ReportError:
        return {}


def or_empty(data: object) -> EnvironmentRecord:
    """A record that someone else put together; empty where a value is not of the form that its key has."""
    try:
        return typed(data, EnvironmentRecord)
    except FormError:
        return {}
