"""``report.json``: the truth that every other format is drawn from, and the way back.

This module knows the spelling of a report; it refuses to know whether its verdict is right.

JSON has no NaN and no infinities: they are written as the strings ``"NaN"``, ``"Infinity"`` and
``"-Infinity"``, which ``float()`` and JavaScript's ``Number()`` read back, and an integer of more
than 4,000 digits as a hexadecimal string. The file is pure ASCII, so that looking at it in a
terminal is safe whatever the program under test put into a name.

    >>> from_json(to_json(report)).verdict is report.verdict
    True
"""

from __future__ import annotations

import dataclasses
import json
import math
import types
import typing
from collections.abc import Mapping, Sequence
from enum import Enum, StrEnum
from pathlib import Path
from typing import Any

from reprokit.core.checklist import Report, exit_code
from reprokit.core.comparison import Comparison, Divergence
from reprokit.core.records import SCHEMA_VERSION
from reprokit.errors import ReportError
from reprokit.layout import REPORT
from reprokit.reports.escaping import one_line
from reprokit.reports.format_values import json_number

_MAX_BYTES = 256 << 20
_MAX_DEPTH = 64
_NOT_FINITE = {"NaN", "Infinity", "-Infinity"}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Series:
    label: str
    steps: Sequence[float]
    values: Sequence[float | None]


class _Effect(StrEnum):
    YES = "yes"
    MAYBE = "maybe"
    NO = "no"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Difference:
    field: str
    expected: Any
    actual: Any
    can_change_numbers: _Effect
    why: str = ""


def to_dict(report: Report) -> dict[str, Any]:
    """The report in plain JSON types, ``schema`` first, then field for field."""
    names = ["schema", *(f.name for f in dataclasses.fields(report) if f.name != "schema")]
    return {name: _plain(getattr(report, name)) for name in names}


def to_json(report: Report) -> str:
    """``report.json`` as text: indented, but with one line a curve, and pure ASCII."""
    parts = []
    for name, value in to_dict(report).items():
        text = _curves_text(value) if name == "curves" else _dumps(value, indent=2).replace("\n", "\n  ")
        parts.append(f"  {_dumps(name)}: {text}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def load(path: Path) -> Report:
    """Read a report from a ``report.json``, or from the folder that holds one.

    Raises:
        ReportError: It cannot be read, or see ``from_json``.
    """
    file = path / REPORT if path.is_dir() else path
    try:
        text = file.read_bytes()
    except OSError as error:
        raise ReportError(
            f"cannot read the report: {error.strerror or error}",
            where=str(file),
            fix="name a folder under reports/, or draw the report again with: reprokit report show RUN RUN",
        ) from error
    return from_json(text, where=str(file))


def from_json(text: str | bytes, *, where: str = "report.json") -> Report:
    """Read a report back; strict, because others act on what it says.

    Args:
        text: The content of a ``report.json``.
        where: Its path, for the error.

    Returns:
        The report. Tuples where the type has tuples; numbers that JSON lacks stay strings
        outside ``curves``.

    Raises:
        ReportError: Not JSON, repeated, missing or unknown keys, wrong types, another schema, or
            an exit code that is not the verdict's.
    """
    if len(text) > _MAX_BYTES:
        raise ReportError("too large to be a report", where=where, expected=f"at most {_MAX_BYTES >> 20} MiB")
    try:
        data = json.loads(
            text, object_pairs_hook=_unique, parse_constant=_refuse_constant, parse_float=_finite_float
        )
    except (ValueError, RecursionError) as error:
        raise _malformed(where, f"not valid JSON: {error}") from error
    return from_dict(data, where=where)


def from_dict(data: Any, *, where: str = "report.json") -> Report:
    """As ``from_json``, from what a JSON parser returned.

    Raises:
        ReportError: See ``from_json``.
    """
    if not isinstance(data, Mapping):
        raise _malformed(where, "not a report", expected="an object", actual=_kind(data))
    schema = data.get("schema")
    if schema != SCHEMA_VERSION or isinstance(schema, bool):
        raise ReportError(
            "this report has another schema",
            where=where,
            expected=f"schema {SCHEMA_VERSION}",
            actual=_short(schema),
            fix="read it with the version of reprokit that wrote it",
        )
    report: Report = _decode(data, Report, where)
    if report.exit_code != exit_code(report.verdict):
        raise _malformed(
            f"{where}: exit_code",
            f"not the exit code of {report.verdict}",
            expected=str(exit_code(report.verdict)),
            actual=str(report.exit_code),
        )
    return dataclasses.replace(report, curves=_check_parts(report, where))


def _check_parts(report: Report, where: str) -> dict[str, list[dict[str, Any]]]:
    """Check what ``Report`` types only as a mapping; return the curves with their numbers read."""
    _decode(report.divergence, Divergence | None, f"{where}: divergence")
    _decode(report.environment_diff, Sequence[_Difference], f"{where}: environment_diff")
    _decode(report.comparisons.get("repeats", []), Sequence[Comparison], f"{where}: comparisons.repeats")
    _decode(report.comparisons.get("golden"), Comparison | None, f"{where}: comparisons.golden")
    for name, part, rows in (
        ("code_changes", report.code_changes, "files"),
        ("attribution", report.attribution, "cells"),
    ):
        _decode((part or {}).get(rows, []), Sequence[Mapping[str, Any]], f"{where}: {name}.{rows}")
    cause, listed = report.cause or {}, ("causes", "ruled_out", "not_varied", "taps")
    hints = {
        **dict.fromkeys(listed, Sequence[Mapping[str, Any]]),
        **dict.fromkeys(("known", "replay", "limits"), Sequence[str]),
    }
    for name, hint in hints.items():
        _decode(cause.get(name, []), hint, f"{where}: cause.{name}")
    _decode(cause.get("divergence"), Mapping[str, Any] | None, f"{where}: cause.divergence")
    curves: dict[str, list[dict[str, Any]]] = {}
    for metric, series in report.curves.items():
        read: list[_Series] = _decode(series, Sequence[_Series], f"{where}: curves.{metric}")
        for one in read:
            if len(one.steps) != len(one.values):
                raise _malformed(
                    f"{where}: curves.{metric}",
                    "steps and values are not of one length",
                    expected=f"{len(one.steps)} values",
                    actual=str(len(one.values)),
                )
        curves[metric] = [dataclasses.asdict(one) for one in read]
    return curves


def _plain(value: Any, *, depth: int = 0) -> Any:
    if depth > _MAX_DEPTH:
        return f"(more than {_MAX_DEPTH} levels deep)"
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(item, depth=depth + 1) for key, item in value.items()}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray):
        return [_plain(item, depth=depth + 1) for item in value]
    return json_number(value)


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


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key {_short(key)} is repeated")
        found[key] = value
    return found


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _finite_float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:40]} is too large for a float64")
    return value


def _decode(value: Any, hint: Any, where: str) -> Any:
    """A JSON value as the type that a dataclass field declares."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return value
    if origin in (types.UnionType, typing.Union):
        inner = next(argument for argument in arguments if argument is not types.NoneType)
        return None if value is None else _decode(value, inner, where)
    if origin is not None and issubclass(origin, Mapping):
        _require(value, dict, "an object", where)
        return {key: _decode(item, arguments[1], f"{where}.{key}") for key, item in value.items()}
    if origin is not None:
        _require(value, list, "an array", where)
        items = [_decode(item, arguments[0], f"{where}[{index}]") for index, item in enumerate(value)]
        return tuple(items) if origin is tuple else items
    if dataclasses.is_dataclass(hint):
        return _decode_record(value, hint, where)
    return _decode_scalar(value, hint, where)


def _decode_record(value: Any, hint: Any, where: str) -> Any:
    _require(value, dict, "an object", where)
    fields = {field.name: field for field in dataclasses.fields(hint)}
    unknown = sorted(set(value) - set(fields))
    if unknown:
        raise _malformed(where, f"unknown key {_short(unknown[0])}", expected=f"only {', '.join(fields)}")
    for name, field in fields.items():
        optional = not (field.default is field.default_factory is dataclasses.MISSING)
        if name not in value and not optional:
            raise _malformed(where, f"the key {name!r} is missing")
    hints = typing.get_type_hints(hint)
    return hint(**{name: _decode(item, hints[name], f"{where}: {name}") for name, item in value.items()})


def _decode_scalar(value: Any, hint: Any, where: str) -> Any:
    if issubclass(hint, Enum):
        members = [member.value for member in hint]
        if value not in members:
            raise _malformed(where, "unknown word", expected=" or ".join(members), actual=_short(value))
        return hint(value)
    if hint is float:
        if isinstance(value, str) and value in _NOT_FINITE:
            return float(value)
        _require(value, (int, float), "a number", where)
        return value
    _require(value, hint, {str: "a string", int: "an integer", bool: "true or false"}[hint], where)
    return value


def _require(value: Any, kind: Any, expected: str, where: str) -> None:
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise _malformed(where, "wrong type", expected=expected, actual=_kind(value))


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
