"""JSON Schema (draft 2020-12) of what a record's annotations say, with its docstring as the description.

A form is an annotation, a record (named tuple, dataclass, ``TypedDict``), ``{name: form}`` for an object with
these keys (``name?`` for one that may be missing), ``[form]`` for a list, or one of the small classes below.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import types
import typing
from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple

DRAFT = "https://json-schema.org/draft/2020-12/schema"
#: How numbers are spelled that JSON lacks, where the writer spells them.
WORDS = {"enum": ["NaN", "Infinity", "-Infinity"]}
_SCALARS: Mapping[Any, dict[str, Any]] = {
    Any: {},
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    types.NoneType: {"type": "null"},
    None: {"type": "null"},
    Path: {"type": "string"},
}
_ENTRY = re.compile(r"^(\w+): (.*)$")
_COMMENT = re.compile(r"^    (\w+): [^#]*  # (.+)$", re.MULTILINE)


class OneOf:
    """What has one of several forms."""

    def __init__(self, *forms: Any) -> None:
        self.forms = forms


class MapOf(NamedTuple):
    """An object whose values, under any name, have one form."""

    form: Any


class Changed(NamedTuple):
    """A record whose JSON has keys more, keys less, or others in their place."""

    record: Any
    also: Mapping[str, Any]
    without: tuple[str, ...] = ()


class Plain(NamedTuple):
    """A schema that someone else made."""

    schema: Mapping[str, Any]


class SchemaWriter:
    """Writes the schema of one document; records that it names come under ``$defs``.

    Args:
        words: Whether numbers that are not finite stand there as words.
    """

    def __init__(self, *, words: bool = False) -> None:
        self.words = words
        self.defs: dict[str, Any] = {}
        self._kinds: dict[str, Any] = {}

    def document(self, form: Any, *, name: str, title: str) -> dict[str, Any]:
        """The whole schema of a document."""
        body = self.of(form)
        if isinstance(form, Plain):
            return {"$schema": DRAFT, "$id": name, **body, "title": title}
        told = {"$schema": DRAFT, "$id": name, "title": title, **body}
        return told | ({"$defs": dict(sorted(self.defs.items()))} if self.defs else {})

    def of(self, form: Any) -> dict[str, Any]:  # noqa: PLR0911 - one a kind of form
        """The schema of one form."""
        if isinstance(form, Plain):
            return dict(form.schema)
        if isinstance(form, OneOf):
            return {"anyOf": [self.of(one) for one in form.forms]}
        if isinstance(form, MapOf):
            return {"type": "object", "additionalProperties": self.of(form.form)}
        if isinstance(form, Changed):
            return self._record(form.record, also=form.also, without=form.without)
        if isinstance(form, dict):
            return self._object({name: (self.of(one), "") for name, one in form.items()})
        if isinstance(form, list):
            return {"type": "array", "items": self.of(form[0])}
        if form is float and self.words:
            return {"anyOf": [{"type": "number"}, WORDS]}
        if isinstance(form, typing.NewType):
            return self.of(form.__supertype__)
        return dict(_SCALARS[form]) if form in _SCALARS else self._annotation(form)

    def _annotation(self, form: Any) -> dict[str, Any]:  # noqa: PLR0911 - the same
        origin, inside = typing.get_origin(form), typing.get_args(form)
        if origin is typing.Annotated:
            return self.of(inside[0])
        if origin is typing.Literal:
            return {"enum": list(inside)}
        if origin in {types.UnionType, typing.Union}:
            return self._one_of(inside)
        if origin in {Mapping, dict}:
            values = self.of(inside[1])
            return {"type": "object"} | ({"additionalProperties": values} if values else {})
        if origin is tuple and inside[-1] is not ...:
            items = [self.of(one) for one in inside]
            return {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}
        if origin in {tuple, list, Sequence}:
            return {"type": "array", "items": self.of(inside[0])}
        if isinstance(form, type) and issubclass(form, Enum):
            return self._named(form, {"enum": [one.value for one in form]})
        if typing.is_typeddict(form) or dataclasses.is_dataclass(form) or hasattr(form, "_field_defaults"):
            return self._named(form)
        if "ndarray" in str(form).lower():  # NumPy 2.5 calls it NDArray
            return {"type": "array", "items": self.of(float)}
        raise TypeError(f"no schema is known for {form!r}")

    def _one_of(self, inside: Sequence[Any]) -> dict[str, Any]:
        found = [self.of(one) for one in inside]
        if {} in found:
            return {}
        if all(set(one) == {"type"} for one in found):
            return {"type": [one["type"] for one in found]}
        return {"anyOf": found}

    def _named(self, form: Any, schema: dict[str, Any] | None = None) -> dict[str, Any]:
        name = form.__name__.lstrip("_")
        if self._kinds.setdefault(name, form) is not form:
            raise TypeError(f"two records of one document are called {name}")
        if name not in self.defs:
            self.defs[name] = {}  # a record may name itself
            self.defs[name] = self._record(form) if schema is None else schema
        return {"$ref": f"#/$defs/{name}"}

    def _record(
        self, form: Any, *, also: Mapping[str, Any] | None = None, without: Sequence[str] = ()
    ) -> dict[str, Any]:
        hints = typing.get_type_hints(form, include_extras=True)
        first, told = described(form)
        fields: dict[str, tuple[dict[str, Any], str]] = {}
        for name, annotation in hints.items():
            if name in without or name in (also or {}) or f"{name}?" in (also or {}):
                continue
            optional = name in _may_be_missing(form)
            schema = self.of(annotation)
            if optional and hasattr(form, "_field_defaults"):  # read as the default
                schema = _or_null(schema)
            fields[f"{name}?" if optional else name] = (schema, told.get(name, ""))
        for name, one in (also or {}).items():
            fields[name] = (self.of(one), told.get(name.rstrip("?"), ""))
        return {"description": first, **self._object(fields)}

    def _object(self, fields: Mapping[str, tuple[dict[str, Any], str]]) -> dict[str, Any]:
        properties = {
            name.rstrip("?"): schema | ({"description": told} if told else {})
            for name, (schema, told) in fields.items()
        }
        needed = [name for name in fields if not name.endswith("?")]
        return {"type": "object", "properties": properties} | ({"required": needed} if needed else {})


def described(form: Any) -> tuple[str, dict[str, str]]:
    """The summary of a record's docstring, and what it says of each field; comments at fields count too."""
    text = inspect.cleandoc(form.__doc__ or "").partition("\n>>> ")[0]
    head, _, attributes = text.partition("Attributes:\n")
    told: dict[str, str] = {}
    name = ""
    for line in inspect.cleandoc(attributes).splitlines():
        if entry := _ENTRY.match(line):
            name, told[entry[1]] = entry[1], entry[2]
        elif name and line.strip():
            told[name] += f" {line.strip()}"
    for field, comment in _COMMENT.findall(inspect.getsource(form)):
        told.setdefault(field, comment)
    return _plain(" ".join(head.split("\n\n")[0].split())), {key: _plain(one) for key, one in told.items()}


def _plain(text: str) -> str:
    return re.sub(r"\s*# noqa.*", "", re.sub(r"\bNone\b", "null", text.replace("``", "`")))


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    kind = schema.get("type")
    if not schema or kind == "null" or (isinstance(kind, list) and "null" in kind):
        return schema
    if set(schema) == {"type"}:
        return {"type": [*([kind] if isinstance(kind, str) else kind), "null"]}
    if {"type": "null"} in schema.get("anyOf", ()):
        return schema
    return {"anyOf": [schema, {"type": "null"}]}


def _may_be_missing(form: Any) -> set[str]:
    """Fields that an older version did not write."""
    if typing.is_typeddict(form):
        return set(form.__optional_keys__)
    if not dataclasses.is_dataclass(form):
        return set(form._field_defaults)
    no_default = dataclasses.MISSING
    return {
        field.name
        for field in dataclasses.fields(form)
        if field.default is not no_default or field.default_factory is not no_default
    }
