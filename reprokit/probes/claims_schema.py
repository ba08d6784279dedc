"""What a file of findings about determinism claims may say: it can come from another machine, by any hand."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, Field, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from reprokit.core import determinism_claims as claims
from reprokit.recipes.schema_types import STRICT, Platform
from reprokit.records.strict import without_repeats

#: Of a file. One GPU's 900 rows take half a MiB.
MAX_BYTES = 16 << 20
_MAX_ROWS = 20_000
_LONGEST_PLACE = 200

_Operation = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_.= ]{0,79}$")]
_Dtype = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,31}$")]
_Version = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9.+_-]{0,63}$")]
#: Names of devices and versions as they are told, without what has a meaning in Markdown or HTML.
_Plain = Annotated[str, Field(pattern=r"^[A-Za-z0-9 ()@.,:;=%#'+/_-]{0,120}$")]
_Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{1,64}$")]
_Number = Annotated[int, Field(ge=0, le=10**9)]
_Count = Annotated[int, Field(ge=1, le=10**9)]
_Time = Annotated[float, Field(ge=0, le=1e9)]


class _Part(BaseModel):
    """What is not known is left out: those who read findings ask whether a name is there, not for null."""

    model_config = STRICT

    @model_validator(mode="before")
    @classmethod
    def _must_leave_out_what_is_not_there(cls, value: Any) -> Any:
        for name, field in cls.model_fields.items():
            if isinstance(value, Mapping) and not field.is_required() and value.get(name, ...) is None:
                raise PydanticCustomError(
                    "rule", "{name} is null: it is left out or has a value", {"name": name}
                )
        return value


class _Finding(_Part):
    """What repeats showed in one mode."""

    outcome: Literal["same", "differs", "raises", "unavailable"]
    digest: _Digest | None = None
    ms: _Time | None = None
    message: Annotated[str, Field(max_length=1000)] | None = None
    differing: _Count | None = None
    compared: _Count | None = None
    warned: bool = False
    earlier: bool = False
    other_process_differs: bool = False

    @model_validator(mode="after")
    def _must_say_what_it_measured(self) -> Self:
        has_run = self.outcome in {claims.SAME, claims.DIFFERS}
        if has_run and (self.digest is None or self.ms is None):
            raise PydanticCustomError("rule", "a result has a digest and its time in ms")
        if (self.outcome == claims.DIFFERS) is (self.differing is None):
            raise PydanticCustomError("rule", "only a result that differs has a number of differing")
        return self


class _Cost(_Part):
    ratio: _Time
    low: _Time
    high: _Time


class _Row(_Part):
    """One operation, dtype and phase."""

    operation: _Operation
    dtype: _Dtype
    compiled: bool
    phase: Literal["forward", "backward"]
    claim: Literal["deterministic", "raises", "unlisted", "unknown"]
    default: _Finding
    deterministic: _Finding | None = None
    warn_only: _Finding | None = None
    cost: _Cost | None = None

    @model_validator(mode="after")
    def _must_be_measured_in_all_modes(self) -> Self:
        others = (self.deterministic, self.warn_only)
        if self.default.outcome != claims.UNAVAILABLE and None in others:
            raise PydanticCustomError("rule", "an operation that ran is measured in every mode")
        return self


class _Batch(_Part):
    """Whether a row's result depends on its batch."""

    operation: _Operation
    dtype: _Dtype
    sizes: Annotated[list[_Count], Field(max_length=100)] | None = None
    others: bool | None = None
    outcome: Literal["raises"] | None = None
    message: Annotated[str, Field(max_length=1000)] | None = None


class _Findings(_Part):
    """Of one platform."""

    schema_: Annotated[
        int, Field(alias="schema", ge=claims.SCHEMA, le=claims.SCHEMA)
    ]  # no literal: True is 1
    platform: Platform
    device: _Plain
    torch: _Version
    build: _Plain | None
    cuda: _Plain | _Number | None
    cudnn: _Plain | _Number | None
    driver: _Plain | _Number | None
    threads: Annotated[int, Field(ge=1, le=100_000)]
    capability: _Plain | None
    repeats: Annotated[int, Field(ge=2, le=10**9)]
    rows: Annotated[list[_Row], Field(max_length=_MAX_ROWS)]
    batches: dict[Literal["default", "deterministic"], Annotated[list[_Batch], Field(max_length=_MAX_ROWS)]]

    @model_validator(mode="after")
    def _must_hold_findings(self) -> Self:
        if not self.rows and not any(self.batches.values()):
            raise PydanticCustomError("rule", "no operation was measured")
        names = Counter(claims.row_name(vars(row)) for row in self.rows)
        if twice := [name for name, count in names.items() if count > 1]:
            raise PydanticCustomError("rule", "{name} is there twice", {"name": twice[0]})
        for mode, batches in self.batches.items():
            if len({(batch.operation, batch.dtype) for batch in batches}) < len(batches):
                raise PydanticCustomError("rule", "a batch of {mode} is there twice", {"mode": mode})
        for row in self.rows:
            for found in (row.default, row.deterministic, row.warn_only):
                compared = (found and found.compared) or self.repeats - 1
                if found and (found.differing or 0) > compared:
                    raise PydanticCustomError(
                        "rule", "more results differ than were compared: {name}", {"name": row.operation}
                    )
        return self


def mistake_in(found: Any) -> str | None:
    """The first mistake in findings and where it is: ``rows.3.claim: …``; None where there is none."""
    try:
        _Findings.model_validate(found)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))[:_LONGEST_PLACE]
        return f"{place}: {first['msg']}" if place else str(first["msg"])
    return None


def are_findings(found: Any) -> bool:
    """Whether it holds findings of this format, without a mistake."""
    return isinstance(found, Mapping) and mistake_in(found) is None


def parse(data: bytes) -> Any:
    """The JSON value in a file, which need not be findings yet.

    Raises:
        ValueError: Too large, not JSON in UTF-8, too deep, or an object has a key twice.
    """
    if len(data) > MAX_BYTES:
        raise ValueError(f"larger than {MAX_BYTES >> 20} MiB")
    try:
        return json.loads(data.decode("utf-8"), object_pairs_hook=without_repeats)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
