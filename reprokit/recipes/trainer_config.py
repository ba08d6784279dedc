"""The settings that a trainer takes, read from its source: nothing is imported, nothing runs.

A trainer's ``Config`` becomes strict pydantic models, so that a host without torch can check a recipe. What
is understood is small on purpose: frozen dataclasses with literal defaults and simple annotations.

    @dataclass(frozen=True)
    class Training:
        learning_rate: Annotated[float, Gt(0)] = 3e-4

    @dataclass(frozen=True)
    class Config:
        training: Training
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, Field, TypeAdapter, ValidationError, create_model

from reprokit.errors import RecipeError
from reprokit.recipes.annotations import Scope, constant, last_name, spelled, type_of
from reprokit.recipes.imports import parse_python
from reprokit.recipes.mistakes import combined, quoted
from reprokit.recipes.schema_types import STRICT


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reading:
    """What is known while a trainer is read: its classes, the mistakes so far, the sections in progress."""

    scope: Scope
    classes: dict[str, ast.ClassDef]
    mistakes: list[RecipeError] = field(default_factory=list)

    def mistake(self, what: str, node: ast.AST, *, fix: str | None = None) -> None:
        self.mistakes.append(self.scope.mistake(what, node, fix=fix))


def read_sections(content: bytes, *, where: str) -> dict[str, type[BaseModel]]:
    """Read ``class Config`` of a trainer: section name → strict pydantic model; settings go by alias.

    Raises:
        RecipeError: Not Python, no ``Config``, or something in it that cannot be read without
            running it. All mistakes are reported together where possible.
    """
    try:
        return dict(_known_sections(content))
    except RecipeError:
        _sections_of(content, where)  # says where
        raise


@functools.lru_cache(maxsize=8)  # nothing but the bytes decides, and models take long to make
def _known_sections(content: bytes) -> dict[str, type[BaseModel]]:
    return _sections_of(content, "")


def _sections_of(content: bytes, where: str) -> dict[str, type[BaseModel]]:
    tree = parse_python(content, where=where)
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    if "Config" not in classes:
        fix = "declare the settings as a frozen dataclass Config"
        raise RecipeError("the trainer has no class Config", where=f"{where}:1", fix=fix)
    reading = _Reading(scope=Scope(where=where, aliases=dict(_aliases(tree))), classes=classes)
    sections = dict(_sections(reading))
    if reading.mistakes:
        raise combined(reading.mistakes, where=where)
    return sections


def _aliases(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    for node in tree.body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            yield node.targets[0].id, node.value


def _sections(reading: _Reading) -> Iterator[tuple[str, type[BaseModel]]]:
    for name, item in _fields(reading, reading.classes["Config"]):
        if _is_class(reading, item.annotation):
            yield name, _section(reading, item, above=("Config",))
        else:
            reading.mistake(f"Config.{name} is not a section", item, fix="put it into a nested dataclass")


def _section(reading: _Reading, item: ast.AnnAssign, *, above: tuple[str, ...]) -> type[BaseModel]:
    name = last_name(item.annotation) or ""
    if name in above:
        reading.mistake(f"the section {name} contains itself", item)
        return BaseModel
    # No default, Name() and field(default_factory=Name) all mean the section's own defaults.
    if item.value is not None and spelled(item.value) not in {f"{name}()", f"field(default_factory={name})"}:
        reading.mistake(f"the default of the section {name} cannot be read", item, fix=f"write {name}()")
    return _model(reading, reading.classes[name], above=(*above, name))


def _model(reading: _Reading, node: ast.ClassDef, *, above: tuple[str, ...]) -> type[BaseModel]:
    """A model of one dataclass. Its fields have neutral names, so that none shadows pydantic's own."""
    definitions: dict[str, Any] = {}
    for index, (name, item) in enumerate(_fields(reading, node)):
        if _is_class(reading, item.annotation):
            section = _section(reading, item, above=above)
            definitions[f"f{index}"] = (
                section,
                Field(alias=name, default_factory=dict, validate_default=True),
            )
        else:
            definitions[f"f{index}"] = _setting(reading, name, item)
    return create_model(node.name, __config__=STRICT, __module__=__name__, **definitions)


def _setting(reading: _Reading, name: str, item: ast.AnnAssign) -> tuple[Any, Any]:
    """Annotation and pydantic field of one setting; its default is checked against its own annotation."""
    try:
        annotation = type_of(item.annotation, reading.scope)
        if item.value is None:
            return annotation, Field(alias=name)
        default = _default(item.value, reading.scope)
        checked = TypeAdapter(annotation, config=STRICT).validate_python(default)
        return annotation, Field(alias=name, default=checked)
    except RecipeError as mistake:
        reading.mistakes.append(mistake)
    except ValidationError as error:
        reason = error.errors()[0]["msg"].lower()
        reading.mistake(
            f"the default of {name} does not match its annotation: {reason}, got {quoted(default)}", item
        )
    return Any, Field(alias=name)


def _default(node: ast.expr, scope: Scope) -> Any:
    if not (isinstance(node, ast.Call) and last_name(node.func) == "field"):
        value = constant(node, scope)
        if isinstance(value, list | dict | set):
            raise scope.mistake(
                "a list cannot be a default", node, fix="write field(default_factory=lambda: [...])"
            )
        return value
    if len(node.keywords) == 1 and not node.args:
        word, value = node.keywords[0].arg, node.keywords[0].value
        if word == "default":
            return constant(value, scope)
        if word == "default_factory" and isinstance(value, ast.Lambda):
            return constant(value.body, scope)
        if word == "default_factory" and last_name(value) in {"list", "tuple"}:
            return [] if last_name(value) == "list" else ()
    what = f"{spelled(node)} cannot be read without running it"
    raise scope.mistake(what, node, fix="write field(default=...) or field(default_factory=lambda: [...])")


def _is_class(reading: _Reading, node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in reading.classes


def _fields(reading: _Reading, node: ast.ClassDef) -> Iterator[tuple[str, ast.AnnAssign]]:
    _must_be_plain(reading, node)
    for item in node.body:
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
            yield item.target.id, item
        elif not _is_no_field(item):
            reading.mistake(
                f"{node.name} contains something that is not a setting", item, fix="annotate it, or move it"
            )


def _is_no_field(item: ast.stmt) -> bool:
    """A docstring, ``pass``, or a method: no part of the settings."""
    text = isinstance(item, ast.Expr) and isinstance(item.value, ast.Constant)
    return text or isinstance(item, ast.Pass | ast.FunctionDef)


def _must_be_plain(reading: _Reading, node: ast.ClassDef) -> None:
    calls = [mark for mark in node.decorator_list if isinstance(mark, ast.Call)]
    words = [word for call in calls if last_name(call.func) == "dataclass" for word in call.keywords]
    if not any(word.arg == "frozen" and spelled(word.value) == "True" for word in words):
        reading.mistake(f"{node.name} is not a frozen dataclass", node, fix="write @dataclass(frozen=True)")
    if node.bases or node.keywords:
        reading.mistake(f"{node.name} has a base class", node, fix="write its settings out in one class")
