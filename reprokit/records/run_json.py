"""``run.json``, read: as a ``RunRecord``, or refused with the reason."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reprokit.core.run_record import RunRecord
from reprokit.errors import ReportError
from reprokit.layout import RANKS_ALLOWED, RECORD
from reprokit.records import json_file
from reprokit.records.strict import FormError

_FIX = "run the recipe again; `reprokit runs list` shows the other runs"


def read(folder: Path) -> RunRecord:
    """What the ``run.json`` of a run folder says.

    Raises:
        ReportError: It is missing or damaged, or a newer version wrote it.
    """
    file = folder / RECORD
    return _with_ranks(json_file.read(file, RunRecord, fix=_FIX), where=str(file))


def recorded(folder: Path) -> RunRecord:
    """The same; an empty record, which says nothing of a run, where there is none that can be believed."""
    try:
        return read(folder)
    except ReportError:
        return RunRecord()


def of(data: Mapping[str, Any], *, where: str) -> RunRecord:
    """The content of a ``run.json`` as a record; ``where`` it stands.

    Raises:
        ReportError: A value is not of the form that its key has, or a newer version wrote it.
    """
    return _with_ranks(json_file.of(data, RunRecord, where=where, fix=_FIX), where=where)


def _with_ranks(record: RunRecord, *, where: str) -> RunRecord:
    """The record, whose recipe says how many traces there are: a number of ranks that a recipe can have."""
    ranks = record.recipe_data.get("ranks")
    number = ranks.get("world_size", 1) if isinstance(ranks, dict) else ranks
    if ranks is None or (type(number) is int and number in RANKS_ALLOWED and isinstance(ranks, dict)):
        return record
    place = "recipe_data.ranks.world_size" if isinstance(ranks, dict) else "recipe_data.ranks"
    expected = f"a whole number from {RANKS_ALLOWED[0]} to {RANKS_ALLOWED[-1]}"
    raise json_file.damaged(FormError(place, expected=expected, actual=number), where=where, fix=_FIX)
