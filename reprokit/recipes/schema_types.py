"""The kinds of values that recipe.yaml holds, each with its rule: names, platforms, patterns, numbers."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import PurePosixPath
from typing import Annotated, Any

from pydantic import AfterValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from reprokit import extensions, variations
from reprokit.core.checklist import VERDICT_ROWS
from reprokit.core.records import SCHEMA_VERSION
from reprokit.errors import UsageError
from reprokit.recipes.mistakes import near_miss

#: What decides which code runs, or what the profile of the numerics sets.
_RESERVED_VARIABLES = frozenset(
    {"PATH", "HOME", "TMPDIR", "LD_AUDIT", "LD_PRELOAD", "LD_LIBRARY_PATH", "PYTHONHASHSEED"}
    | {"PYTHONHOME", "PYTHONPYCACHEPREFIX", "PYTHONUSERBASE"}
)
STRICT = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, protected_namespaces=())


def distinct(values: list[Any]) -> list[Any]:
    """Refuse a list with repeats."""
    repeated = sorted(str(value) for value, count in Counter(values).items() if count > 1)
    if repeated:
        raise PydanticCustomError(
            "rule", "a list without repeats ({what} is there twice)", {"what": ", ".join(repeated)}
        )
    return values


def _text(text: str) -> str:
    if not text.strip():
        raise PydanticCustomError("rule", "text that is not blank")
    return text


def _line(text: str) -> str:
    if "\n" in _text(text) or "\t" in text:
        raise PydanticCustomError("rule", "one line")
    return text


def known_version(schema: int) -> int:
    """Refuse another version of the format."""
    if schema != SCHEMA_VERSION:
        raise PydanticCustomError("rule", "{version}", {"version": SCHEMA_VERSION})
    return schema


def relaxable(check: str) -> str:
    """Refuse a row that the verdict rests on."""
    if check in VERDICT_ROWS:
        raise PydanticCustomError("rule", "another row: the verdict itself rests on this one")
    return check


def _variation(name: str) -> str:
    known = variations.names()
    if name not in known:
        near = near_miss(name, known)
        hint = f"did you mean {near!r}?" if near else ", ".join(known)
        raise PydanticCustomError("rule", "the name of a variation ({hint})", {"hint": hint})
    return name


def _extension(text: str) -> str:
    try:
        extensions.parse(text)
    except UsageError as error:
        raise PydanticCustomError("rule", "an extension with its exact version: NAME==VERSION") from error
    return text


def _word(text: str) -> str:
    if "\0" in text:
        raise PydanticCustomError("rule", "a word without a null character")
    return text


def _inside(text: str) -> str:
    path = PurePosixPath(_line(text))
    if path.is_absolute() or ".." in path.parts:
        raise PydanticCustomError("rule", "a path or pattern below the project's folder")
    return text


def _regular_expression(text: str) -> str:
    try:
        found = re.compile(_line(text))
    except re.error as error:
        raise PydanticCustomError("rule", "a regular expression ({why})", {"why": str(error)}) from error
    if not set(found.groupindex) - {"step"}:
        raise PydanticCustomError("rule", "a regular expression with a named group for each metric")
    return text


def _variable(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,127}", name):
        raise PydanticCustomError("rule", "the name of an environment variable")
    if name in _RESERVED_VARIABLES or name.startswith("REPROKIT_"):
        raise PydanticCustomError("rule", "another variable: this one is set by reprokit")
    return name


def no_code_from_elsewhere(variables: dict[str, str]) -> dict[str, str]:
    """Refuse a ``PYTHONPATH`` that leads out of the project: nothing there is digested."""
    for folder in filter(None, variables.get("PYTHONPATH", "").split(":")):
        if PurePosixPath(folder).is_absolute() or ".." in PurePosixPath(folder).parts:
            rule = "without a folder outside the project in PYTHONPATH ({folder})"
            raise PydanticCustomError("rule", rule, {"folder": folder})
    return variables


def _matching(pattern: str, rule: str) -> AfterValidator:
    def validate(text: str) -> str:
        if not re.fullmatch(pattern, text):
            raise PydanticCustomError("rule", "{rule}", {"rule": rule})
        return text

    return AfterValidator(validate)


#: What ``uname -m`` says of machines that torch is built for; a typing error would never be judged.
_ARCHITECTURES = "x86_64|aarch64|arm64|ppc64le|s390x|riscv64|loongarch64"
PLAIN_NAME = r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}"
Name = Annotated[str, _matching(PLAIN_NAME, "a plain name: up to 64 letters, digits, - and _")]
CheckName = Annotated[str, _matching(r"[a-z][a-z0-9_]{0,63}", "the id of a row: lower case, digits and _")]
Platform = Annotated[
    str,
    _matching(
        rf"cpu-({_ARCHITECTURES})(-[A-Za-z0-9._-]{{1,40}})?|(cuda|tpu)-[A-Za-z0-9][A-Za-z0-9._-]{{0,63}}|xla-cpu",
        "a platform such as cpu-x86_64, cpu-aarch64, cuda-h200, tpu-v5e or xla-cpu",
    ),
]
Word = Annotated[str, AfterValidator(_word)]
Inside = Annotated[str, AfterValidator(_inside)]
Pattern = Annotated[str, AfterValidator(_regular_expression)]
VariableName = Annotated[str, AfterValidator(_variable)]
ExtensionName = Annotated[str, AfterValidator(_extension)]
VariationName = Annotated[str, AfterValidator(_variation)]
Seed = Annotated[int, Field(ge=0, lt=2**32)]
Text = Annotated[str, AfterValidator(_text)]
Line = Annotated[str, Field(max_length=200), AfterValidator(_line)]
NotNegative = Annotated[float, Field(ge=0)]
Positive = Annotated[float, Field(gt=0)]
