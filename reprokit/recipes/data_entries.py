"""What a recipe may say under ``data``: ``none``, files next to it, or files by name with their URLs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Discriminator, Field, Tag, model_validator
from pydantic_core import PydanticCustomError

from reprokit.recipes.schema_types import distinct

#: How pydantic names the kinds of ``data`` in the place of a mistake; no key of a recipe is called like them.
KINDS_OF_DATA = frozenset({"data: none", "data: list", "data: by name"})
_PROTOCOLS = ("https", "http", "file", "gs", "s3", "hf", "memory", "package")
_PIN = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?==[0-9][A-Za-z0-9.!+_-]*")


def _file_name(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", name):
        rule = "named like a file: up to 100 letters, digits, dots, - and _"
        raise PydanticCustomError("rule", "{rule}", {"rule": rule})
    return name


def _sha256(text: str) -> str:
    if not re.fullmatch(r"sha256:[0-9a-f]{64}", text):
        raise PydanticCustomError("rule", "sha256: and 64 hex digits in lower case")
    return text


def _url(text: str) -> str:
    try:
        parts = urlsplit(text)
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in _PROTOCOLS or not (parts.netloc or parts.path) or re.search(r"\s", text):
        rule = f"a URL that begins with {', '.join(f'{protocol}://' for protocol in _PROTOCOLS)}"
        raise PydanticCustomError("rule", "{rule}", {"rule": rule})
    if parts.scheme == "package" and not (_PIN.fullmatch(parts.netloc) and parts.path.strip("/")):
        raise PydanticCustomError("rule", "package://NAME==VERSION/PATH/IN/THE/PACKAGE")
    return text


def _below(text: str) -> str:
    path = PurePosixPath(text)
    if not text.strip() or path.is_absolute() or ".." in path.parts or "\0" in text:
        raise PydanticCustomError("rule", "a path below the project's folder")
    return text


def _function(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*:[A-Za-z_]\w*", text, re.ASCII):
        raise PydanticCustomError("rule", "module:function")
    return text


def _form(text: str) -> str:
    if not re.fullmatch(r"[a-z][a-z0-9]*(?:/[A-Za-z0-9_.-]+)*", text):
        raise PydanticCustomError("rule", "a format such as images, lines or tokens/uint16/64")
    return text


def _licence(text: str) -> str:
    if not text.strip() or len(text) > 500 or not text.isprintable():
        rule = "the name of a licence or a note on it: one line of up to 500 characters"
        raise PydanticCustomError("rule", "{rule}", {"rule": rule})
    return text.strip()


Url = Annotated[str, AfterValidator(_url)]
FileName = Annotated[str, AfterValidator(_file_name)]


class DataEntry(BaseModel):
    """One file, by its digest and size, and where it is fetched from."""

    model_config = ConfigDict(extra="forbid", strict=True)
    url: Url | Annotated[list[Url], Field(min_length=1)] | None = None
    path: Annotated[str, AfterValidator(_below)] | None = None
    sha256: Annotated[str, AfterValidator(_sha256)]
    size: Annotated[int, Field(ge=0)]
    unpack: Literal["zip", "tar"] | None = None
    prepared: FileName | None = None
    form: Annotated[str, AfterValidator(_form)] | None = None
    licence: Annotated[str, AfterValidator(_licence)] | None = None
    redistribute: bool = True

    @model_validator(mode="after")
    def _must_have_one_place(self) -> Self:
        if [self.url, self.path, self.prepared].count(None) != 2:
            raise PydanticCustomError("rule", "given either a url or a path, or as `prepared` by a step")
        if self.prepared and self.unpack:
            raise PydanticCustomError("rule", "given no `unpack`: a prepared file is used as it is")
        if not self.redistribute and self.licence is None:
            raise PydanticCustomError("rule", "given the `licence` that keeps it from being passed on")
        return self


class Step(BaseModel):
    """A step that makes files of other files: its code, what it reads, its settings and its seed."""

    model_config = ConfigDict(extra="forbid", strict=True)
    script: Annotated[str, AfterValidator(_below)] | None = None
    function: Annotated[str, AfterValidator(_function)] | None = None
    inputs: list[FileName] = []
    settings: dict[str, Any] = {}
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0

    @model_validator(mode="after")
    def _must_have_one_code(self) -> Self:
        if (self.script is None) == (self.function is None):
            raise PydanticCustomError("rule", "given either a script or a function")
        return self


Prepare = dict[FileName, Step]


class Disjoint(BaseModel):
    """Tables that must not share a row, and the columns that identify one."""

    model_config = ConfigDict(extra="forbid", strict=True)
    files: Annotated[list[FileName], Field(min_length=2), AfterValidator(distinct)]
    key: list[Annotated[str, Field(min_length=1)]] = []


def must_be_declared(disjoint: list[Disjoint], data: Any) -> None:
    """Refuse files that must be disjoint and are not declared by name.

    Raises:
        PydanticCustomError: One is not.
    """
    known = data if isinstance(data, Mapping) else {}
    for name in (name for one in disjoint for name in one.files):
        if name not in known:
            raise _rule(f"disjoint names {name}, which `data` does not declare by name")


def must_fit(steps: Prepare, data: Any) -> None:
    """Refuse steps whose inputs are not there before them, and files of steps that there are not.

    Raises:
        PydanticCustomError: They do not fit together.
    """
    entries: Mapping[str, DataEntry] = data if isinstance(data, Mapping) else {}
    made = {name: entry.prepared for name, entry in entries.items() if entry.prepared}
    known = {name for name, entry in entries.items() if not entry.prepared}
    for name, step in made.items():
        if step not in steps:
            raise _rule(f"data.{name} is of the step {step}, which `prepare` does not have")
    for name, one in steps.items():
        own = {file for file, step in made.items() if step == name}
        if not own:
            raise _rule(f"prepare.{name} makes no file: declare each under `data` with `prepared: {name}`")
        if missing := [file for file in one.inputs if file not in known]:
            raise _rule(f"prepare.{name} reads {missing[0]}, which is neither data nor made by a step before")
        known |= own


def _rule(rule: str) -> PydanticCustomError:
    return PydanticCustomError("rule", "{rule}", {"rule": rule})


def _kind(value: Any) -> str | None:
    if isinstance(value, dict):
        return "data: by name"
    if isinstance(value, list):
        return "data: list"
    return "data: none" if value == "none" else None


Data = Annotated[
    Annotated[Literal["none"], Tag("data: none")]
    | Annotated[list[Any], Tag("data: list")]
    | Annotated[dict[FileName, DataEntry], Field(min_length=1), Tag("data: by name")],
    Discriminator(
        _kind,
        custom_error_type="rule",
        custom_error_message="'none', a list, or a section of files by name",
    ),
]


def data_identity(data: Any) -> Any:
    """What of ``data`` can change a number: of files by name, digests and unpacking, not places."""
    if not isinstance(data, Mapping):
        return data
    return {
        name: {"sha256": entry["sha256"], **({"unpack": entry["unpack"]} if entry.get("unpack") else {})}
        for name, entry in data.items()
    }
