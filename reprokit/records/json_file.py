"""A file of ours as a typed record, or refused: what is wrong, where, what was expected, what to do.

All versions wrote schema 1 and only ever added keys, so an old file is read as it is: what it lacks has the
default of its record, and is never a reason to fail.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reprokit.errors import ReportError
from reprokit.records.newer import refuse_newer_schema
from reprokit.records.strict import FormError, Record, read_object, typed


def read(file: Path, form: type[Record], *, fix: str) -> Record:
    """What a file says, as a record of a class; ``fix`` is what to do where it cannot be read.

    Raises:
        ReportError: It is missing or damaged, or a newer version wrote it.
    """
    try:
        data = read_object(file)
    except OSError as error:
        what = f"{file.name} cannot be read: {error.strerror or error}"
        raise ReportError(what, where=str(file), fix=fix) from error
    except ValueError as error:
        raise ReportError(f"{file.name} is damaged: {error}", where=str(file), fix=fix) from error
    return of(data, form, where=str(file), fix=fix)


def of(data: Mapping[str, Any], form: type[Record], *, where: str, fix: str) -> Record:
    """The content of a file as a record of a class; ``where`` it stands.

    Raises:
        ReportError: A value is not of the form that its key has, or a newer version wrote it.
    """
    refuse_newer_schema(data.get("schema"), name=Path(where).name, where=where, error=ReportError)
    try:
        return typed(data, form)
    except FormError as error:
        raise damaged(error, where=where, fix=fix) from error


def damaged(error: FormError, *, where: str, fix: str) -> ReportError:
    """The refusal of a value that is not of the form that its key has."""
    return ReportError(
        f"{Path(where).name} is damaged: {error.place!r} has a value of the wrong type or size",
        where=where,
        expected=error.expected,
        actual=error.actual,
        fix=fix,
    )
