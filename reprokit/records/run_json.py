"""``run.json``, read: as a ``RunRecord``, or refused with the reason.

All versions wrote schema 1 and only ever added keys, so an old file is read as it is: what it lacks is None,
"not recorded", and never a reason to fail.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reprokit.core.records import SCHEMA_VERSION
from reprokit.core.run_record import RunRecord
from reprokit.errors import ReportError
from reprokit.layout import RANKS_ALLOWED, RECORD
from reprokit.records.strict import FormError, read_object, typed

_FIX = "run the recipe again; `reprokit runs list` shows the other runs"


def read(folder: Path) -> RunRecord:
    """What the ``run.json`` of a run folder says.

    Raises:
        ReportError: It is missing or damaged, or a newer version wrote it.
    """
    try:
        data = read_object(folder / RECORD)
    except OSError as error:
        what = f"run.json cannot be read: {error.strerror or error}"
        raise ReportError(what, where=str(folder / RECORD), fix=_FIX) from error
    except ValueError as error:
        raise ReportError(f"run.json is damaged: {error}", where=str(folder / RECORD), fix=_FIX) from error
    return of(data, where=str(folder / RECORD))


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
    schema = data.get("schema")
    if type(schema) is int and schema > SCHEMA_VERSION:
        raise ReportError(
            f"run.json was written by a newer version of reprokit, with schema {schema}",
            where=where,
            expected=f"schema {SCHEMA_VERSION}",
            fix="use that version, or a newer one: pip install --upgrade reprokit-verify",
        )
    try:
        record = typed(data, RunRecord)
        _must_have_ranks(record.recipe_data)
    except FormError as error:
        raise ReportError(
            f"run.json is damaged: {error.place!r} has a value of the wrong type or size",
            where=where,
            expected=error.expected,
            actual=error.actual,
            fix=_FIX,
        ) from error
    return record


def _must_have_ranks(recipe: Mapping[str, Any]) -> None:
    """A recipe says how many traces there are, so its number of ranks must be one that it can have."""
    ranks = recipe.get("ranks")
    if ranks is None:
        return
    if not isinstance(ranks, dict):
        raise FormError("recipe_data.ranks", expected="an object", actual=ranks)
    number = ranks.get("world_size", 1)
    if type(number) is not int or number not in RANKS_ALLOWED:
        expected = f"a whole number from {RANKS_ALLOWED[0]} to {RANKS_ALLOWED[-1]}"
        raise FormError("recipe_data.ranks.world_size", expected=expected, actual=number)
