"""Write and read ``comparisons.json``: what a gate found when it compared each recipe with another commit.

A job that ran nothing reads it next to ``gate.json``, and believes nothing of it but its form.
"""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Sequence
from typing import Annotated, Literal

from annotated_types import Len
from pydantic import ConfigDict, TypeAdapter, ValidationError

from reprokit.core.records import SCHEMA_VERSION
from reprokit.errors import ReportError
from reprokit.records.newer import refuse_newer_schema
from reprokit.reports.escaping import one_line
from reprokit.reports.formats import to_json

#: Name of the file in what a CI job keeps.
COMPARISONS_FILE = "comparisons.json"

_MAX_ROWS = 10_000
_MAX_BYTES = 4 << 20


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonRow:
    """One recipe: the answer, None where there is none; the record from which on it moved; why."""

    recipe: str
    seed: int | None = None
    answer: Literal["equal", "rounding", "different", "unjudged"] | None = None
    record: int | None = None
    sentence: str = ""

    def __post_init__(self) -> None:
        if self.record is not None and self.answer != "different":
            raise ValueError("only numbers that moved have a record from which they moved")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonRecord:
    """What every recipe was compared with, and a row for each."""

    against: str
    rows: Annotated[Sequence[ComparisonRow], Len(0, _MAX_ROWS)]
    schema: int = SCHEMA_VERSION

    def __post_init__(self) -> None:
        if self.schema != SCHEMA_VERSION:
            raise ValueError(f"schema {self.schema} is not {SCHEMA_VERSION}")


def comparisons_json(record: ComparisonRecord) -> str:
    """``comparisons.json`` as text: pure ASCII."""
    return json.dumps(dataclasses.asdict(record), indent=2, allow_nan=False) + "\n"


def read_comparisons(content: bytes, *, where: str = COMPARISONS_FILE) -> ComparisonRecord:
    """Read it back, strictly.

    Raises:
        ReportError: Too large, not JSON, missing or unknown keys, or wrong types.
    """
    if len(content) > _MAX_BYTES:
        raise ReportError("too large to be the comparisons of a gate", where=where)
    data = to_json.parse(content, where=where)
    if isinstance(data, dict):
        refuse_newer_schema(data.get("schema"), name=COMPARISONS_FILE, where=where, error=ReportError)
    try:
        record = _reader().validate_json(content)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        raise ReportError(one_line(f"not the comparisons of a gate: {first['msg']}"), where=where) from error
    if record is None:
        raise ReportError("null is not a comparison", where=where)
    return record


@functools.cache
def _reader() -> TypeAdapter[ComparisonRecord | None]:
    return TypeAdapter(ComparisonRecord | None, config=ConfigDict(strict=True, extra="forbid"))
