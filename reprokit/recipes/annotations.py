"""The type that an annotation in a trainer's source means, for pydantic, without running it.

>>> type_of(ast.parse("Annotated[float, Gt(0)] | None", mode="eval").body, Scope(where="ppo.py"))
typing.Optional[typing.Annotated[float, Gt(gt=0)]]
"""

from __future__ import annotations

import ast
import functools
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import annotated_types
from pydantic import BeforeValidator, Strict

from reprokit.errors import RecipeError

_SIMPLE: Mapping[str, type] = {"int": int, "float": float, "str": str, "bool": bool}
_CONSTRAINTS: Mapping[str, Callable[[Any], Any]] = {
    name: getattr(annotated_types, name)
    for name in ("Gt", "Ge", "Lt", "Le", "MultipleOf", "MinLen", "MaxLen")
}
_UNDERSTOOD = (
    "use int, float, str, bool, None, list[X], tuple[X, ...], Literal[...], X | None, Annotated[X, Gt(0)]"
)
_MAX_DEPTH = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The module that an annotation stands in."""

    where: str  # its path, for errors
    # Names that it gives to expressions at the top level: `Rate = Annotated[float, Gt(0)]`
    aliases: Mapping[str, ast.expr] = field(default_factory=dict)

    def mistake(self, what: str, node: ast.AST, *, fix: str | None = None) -> RecipeError:
        """An error that names the node's line."""
        return RecipeError(what, where=f"{self.where}:{getattr(node, 'lineno', 1)}", fix=fix)


def type_of(node: ast.expr, scope: Scope, *, depth: int = 0) -> Any:
    """The type that an annotation means.

    Raises:
        RecipeError: It is none of the forms that the error lists.
    """
    if depth > _MAX_DEPTH:
        raise scope.mistake("the annotation is nested too deep, or refers to itself", node)
    if isinstance(node, ast.Constant) and node.value is None:
        return type(None)
    if isinstance(node, ast.Name) and node.id in _SIMPLE:
        return _SIMPLE[node.id]
    if isinstance(node, ast.Name) and node.id in scope.aliases:
        return type_of(scope.aliases[node.id], scope, depth=depth + 1)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return operator.or_(*(type_of(side, scope, depth=depth + 1) for side in (node.left, node.right)))
    found = _generic(node, scope, depth=depth) if isinstance(node, ast.Subscript) else None
    if found is None:
        raise scope.mistake(f"the annotation {spelled(node)} cannot be read", node, fix=_UNDERSTOOD)
    return found


def constant(node: ast.expr, scope: Scope) -> Any:
    """The value of a literal.

    Raises:
        RecipeError: It is an expression that would have to be run.
    """
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError) as error:
        what = f"{spelled(node)} cannot be read without running it"
        raise scope.mistake(what, node, fix="write the value itself") from error


def last_name(node: ast.expr | None) -> str | None:
    """``Gt`` of ``Gt`` and of ``annotated_types.Gt``; None of anything else."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else None


def spelled(node: ast.AST) -> str:
    """An expression as source, cut to a readable length."""
    try:
        text = ast.unparse(node)
    except RecursionError:
        return "an expression nested too deep"
    return text if len(text) <= 60 else f"{text[:57]}..."


def _generic(node: ast.Subscript, scope: Scope, *, depth: int) -> Any:
    kind = last_name(node.value)
    inner = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
    if kind == "Literal":
        return _literal(node, inner, scope)
    if kind == "tuple" and inner:
        return _tuple(inner, scope, depth=depth)
    if kind == "list" and len(inner) == 1:
        return list[type_of(inner[0], scope, depth=depth + 1)]  # type: ignore[misc]
    if kind == "Annotated" and len(inner) > 1:
        constraints = [_constraint(one, scope) for one in inner[1:]]
        base = type_of(inner[0], scope, depth=depth + 1)
        return functools.reduce(lambda annotated, one: Annotated[annotated, one], constraints, base)
    return None


def _tuple(inner: list[ast.expr], scope: Scope, *, depth: int) -> Any:
    """A tuple that a YAML list may fill, its items as strict as ever."""
    open_ended = len(inner) == 2 and isinstance(inner[1], ast.Constant) and inner[1].value is ...
    items = [type_of(one, scope, depth=depth + 1) for one in (inner[:1] if open_ended else inner)]
    whole: Any = tuple[(*items, ...) if open_ended else tuple(items)]  # type: ignore[misc]
    return Annotated[whole, Strict(strict=False)]


def _literal(node: ast.Subscript, inner: list[ast.expr], scope: Scope) -> Any:
    choices = tuple(constant(one, scope) for one in inner)
    if not all(choice is None or isinstance(choice, bool | int | str) for choice in choices):
        raise scope.mistake(f"{spelled(node)} may hold text, whole numbers, True, False and None", node)

    def same_type(value: Any) -> Any:
        """True equals 1, but is not it."""
        if any(value == choice and type(value) is type(choice) for choice in choices):
            return value
        raise ValueError(" or ".join(repr(choice) for choice in choices))

    return Annotated[Literal[choices], BeforeValidator(same_type)]


def _constraint(node: ast.expr, scope: Scope) -> Any:
    if isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords:
        make = _CONSTRAINTS.get(last_name(node.func) or "")
        bound = constant(node.args[0], scope)
        if make is not None and isinstance(bound, int | float) and not isinstance(bound, bool):
            return make(bound)
    what = f"the constraint {spelled(node)} cannot be read"
    raise scope.mistake(what, node, fix=f"use {', '.join(_CONSTRAINTS)} of one number")
