"""Write and read ``report.json``, from which every other format is drawn.

NaN and infinities are written as the strings ``"NaN"``, ``"Infinity"`` and ``"-Infinity"``, which ``float()``
and JavaScript's ``Number()`` read back, and an integer of more than 4,000 digits as a hexadecimal string. The
file is pure ASCII, so that it is safe to look at in a terminal.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import math
from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any, Literal

from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError, SchemaValidator, core_schema

from reprokit.core.checklist import Report, exit_code
from reprokit.core.extension_record import ReportedProposal
from reprokit.core.records import SCHEMA_VERSION
from reprokit.core.statistics.gate_plan import GateOutcome
from reprokit.errors import ReportError
from reprokit.layout import REPORT
from reprokit.records.newer import refuse_newer_schema, refuse_newer_tool
from reprokit.records.strict import without_repeats
from reprokit.redaction import redact_text
from reprokit.regular_file import read_regular
from reprokit.reports.escaping import one_line
from reprokit.reports.format_values import json_number

_MAX_BYTES = 256 << 20
_MAX_DEPTH = 64
_NOT_FINITE = {"NaN", "Infinity", "-Infinity"}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Difference:
    field: str
    expected: Any
    actual: Any
    can_change_numbers: Literal["yes", "maybe", "no"]
    why: str = ""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _RoundedMetric:
    finding: str
    ratio: float
    steady: float
    at: int | None
    until: int
    records: int
    why: str


_OBJECTS = Sequence[Mapping[str, Any]]

#: What ``Report`` types only as a mapping, and every reader of a report relies on.
_PARTS: Mapping[str, Any] = {
    "environment_diff": Sequence[_Difference],
    **{f"statistical.{name}": Mapping[str, Mapping[str, float]] for name in ("reference", "new")},
    "statistical.margins": Mapping[str, float],
    "statistical.rates": Mapping[str, Any],
    "statistical.outcome": GateOutcome | None,
    "rounding.metrics": Mapping[str, _RoundedMetric],
    "rounding.runs": Mapping[str, Any] | None,
    **{f"rounding.{name}": str for name in ("answer", "why", "sentence", "twins_of", "centre", "why_today")},
    "stress.interval": Sequence[float],
    "stress.pair": Sequence[str],
    "stress.not_made": Mapping[str, str],
    "cause.divergence": Mapping[str, Any] | None,
    **{f"cause.{name}": _OBJECTS for name in ("causes", "ruled_out", "not_varied", "taps", "tried")},
    "cause.proposals": Sequence[ReportedProposal],
    **{f"cause.{name}": Sequence[str] for name in ("known", "replay", "limits")},
}
_ABSENT = object()

#: pydantic's kind of error → what the file should have held.
_EXPECTED = {
    **dict.fromkeys(("dataclass_type", "dict_type"), "an object"),
    **dict.fromkeys(("list_type", "tuple_type", "is_instance_of", "sequence_str"), "an array"),
    "string_type": "a string",
    "int_type": "an integer",
    "float_type": "a number",
    "bool_type": "true or false",
}


def to_dict(report: Report) -> dict[str, Any]:
    """The report in plain JSON types without secrets, ``schema`` first, then field for field."""
    names = ["schema", *(f.name for f in dataclasses.fields(report) if f.name != "schema")]
    for name in (
        "bundle",
        "rounding",
        "statistical",
        "stress",
        "nearby",
        "trace",
        "tool",
        "extensions",
        "sections",
    ):  # reports that are older than these stay what they were
        if getattr(report, name) in (None, ()):
            names.remove(name)
    return {name: _json_value(getattr(report, name)) for name in names}


def to_json(report: Report) -> str:
    """``report.json`` as text: indented, but with one line a curve, and pure ASCII."""
    parts = []
    for name, value in to_dict(report).items():
        text = _curves_text(value) if name == "curves" else _dumps(value, indent=2).replace("\n", "\n  ")
        parts.append(f"  {_dumps(name)}: {text}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def load(path: Path) -> Report:
    """Read a report, as ``from_json`` does, from a ``report.json`` or from the folder that holds one."""
    file = path / REPORT if path.is_dir() else path
    try:
        text = read_regular(file)
    except OSError as error:
        raise ReportError(
            f"cannot read the report: {error.strerror or error}",
            where=str(file),
            fix="name a folder under reports/, or draw the report again with: reprokit report show RUN RUN",
        ) from error
    return from_json(text, where=str(file))


def from_json(text: str | bytes, *, where: str = "report.json") -> Report:
    """Read a report back; strict, because others act on what it says. ``where`` is its path, for errors.

    Numbers that JSON lacks stay strings outside ``curves``.

    Raises:
        ReportError: Not JSON, repeated, missing or unknown keys, wrong types, another schema, or
            an exit code that is not the verdict's.
    """
    data = parse(text, where=where)
    return from_dict(data, where=where)


def parse(text: str | bytes, *, where: str) -> Any:
    """A JSON value from someone else's file: no repeated key, no number that float64 does not have.

    Raises:
        ReportError: Too large, or not such JSON.
    """
    if len(text) > _MAX_BYTES:
        raise ReportError("too large to be a report", where=where, expected=f"at most {_MAX_BYTES >> 20} MiB")
    try:
        return json.loads(
            text, object_pairs_hook=without_repeats, parse_constant=_finite_float, parse_float=_finite_float
        )
    except (ValueError, RecursionError) as error:
        raise _malformed(where, f"not valid JSON: {error}") from error


def from_dict(data: Any, *, where: str = "report.json") -> Report:
    """As ``from_json``, from what a JSON parser returned."""
    if not isinstance(data, Mapping):
        raise _malformed(where, "not a report", expected="an object", actual=_kind(data))
    schema = data.get("schema")
    refuse_newer_schema(schema, name=REPORT, where=where, error=ReportError)
    if schema != SCHEMA_VERSION or isinstance(schema, bool):
        raise ReportError(
            "this report has another schema",
            where=where,
            expected=f"schema {SCHEMA_VERSION}",
            actual=_short(schema),
            fix="read it with the version of reprokit that wrote it",
        )
    # An adapter configures dataclasses only within another type; None is refused above.
    try:
        report: Report = _read(data, Report | None, where)
    except ReportError:
        refuse_newer_tool(data, name=REPORT, where=where, error=ReportError)
        raise
    if report.exit_code != exit_code(report.verdict):
        raise _malformed(
            f"{where}: exit_code",
            f"not the exit code of {report.verdict}",
            expected=str(exit_code(report.verdict)),
            actual=str(report.exit_code),
        )
    for path, kind in _PARTS.items():
        part: Any = data
        for name in path.split("."):
            part = part.get(name, _ABSENT) if isinstance(part, Mapping) else _ABSENT
        if part is not _ABSENT:
            _read(part, kind, f"{where}: {path}")
    return report


def _json_value(value: Any, *, depth: int = 0) -> Any:
    if depth > _MAX_DEPTH:
        return f"(more than {_MAX_DEPTH} levels deep)"
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {redact_text(str(key)): _json_value(item, depth=depth + 1) for key, item in value.items()}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray):
        return [_json_value(item, depth=depth + 1) for item in value]
    return redact_text(value) if isinstance(value, str) else json_number(value)


def _dumps(value: Any, *, indent: int | None = None) -> str:
    return json.dumps(value, indent=indent, allow_nan=False)


def _curves_text(curves: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    metrics = [
        f"    {_dumps(metric)}: [\n"
        + ",\n".join(f"      {_dumps(one)}" for one in series)
        + ("\n    ]" if series else "]")
        for metric, series in curves.items()
    ]
    return "{\n" + ",\n".join(metrics) + "\n  }" if metrics else "{}"


def _finite_float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:40]} is not a finite float64")
    return value


def _read(value: Any, kind: Any, where: str) -> Any:
    """A JSON value as a type, exactly as declared: nothing is turned into another type."""
    try:
        return _validator(kind).validate_python(value)
    except ValidationError as error:
        raise _refusal(error.errors(include_url=False)[0], where) from error


@functools.cache
def _validator(kind: Any) -> SchemaValidator:
    adapter = TypeAdapter(kind, config=ConfigDict(strict=True, extra="forbid"))
    return SchemaValidator(_as_json_spells_it(adapter.core_schema))


def _as_json_spells_it(schema: Any) -> Any:
    """Let a strict schema take records, tuples, words and non-finite numbers in the form that JSON has.

    pydantic's own JSON parser takes repeated keys and refuses the lone surrogates of undecodable file names.
    """
    if isinstance(schema, list):
        return [_as_json_spells_it(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("type") == "float":
        return core_schema.no_info_plain_validator_function(_number)
    strictness = {"strict": False} if schema.get("type") in {"dataclass", "tuple", "enum"} else {}
    return {name: _as_json_spells_it(one) for name, one in schema.items()} | strictness


def _number(value: Any) -> int | float:
    if isinstance(value, str) and value in _NOT_FINITE:
        return float(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise PydanticCustomError("float_type", "not a number")
    return value  # 2048 stays 2048: what is written again is the same text


def _refusal(error: ErrorDetails, where: str) -> ReportError:
    """The first thing that is wrong with a report, with its place in the file."""
    kind, place = error["type"], error["loc"]
    if kind == "missing":
        return _malformed(_at(where, place[:-1]), f"the key {_short(place[-1])} is missing")
    if kind == "unexpected_keyword_argument":
        return _malformed(_at(where, place[:-1]), f"unknown key {_short(place[-1])}")
    if kind in {"enum", "literal_error"}:
        words = error["ctx"]["expected"]
        return _malformed(_at(where, place), "unknown word", expected=words, actual=_short(error["input"]))
    if kind == "value_error":
        return _malformed(_at(where, place), str(error["ctx"]["error"]))
    expected, actual = _EXPECTED.get(kind, error["msg"]), _kind(error["input"])
    return _malformed(_at(where, place), "wrong type", expected=expected, actual=actual)


def _at(where: str, place: Sequence[str | int]) -> str:
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place)
    return f"{where}: {path.removeprefix('.')}" if path else where


def _malformed(
    where: str, what: str, *, expected: str | None = None, actual: str | None = None
) -> ReportError:
    """An error whose place may be named by keys that the report's maker chose."""
    return ReportError(
        one_line(what),
        where=one_line(where),
        expected=expected,
        actual=actual,
        fix="make the report again from its run folders",
    )


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "an array", str: "a string", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")


def _short(value: Any) -> str:
    return ascii(value if len(repr(value)) <= 80 else repr(value)[:80])
