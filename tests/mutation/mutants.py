"""Small faults in a Python module, one at a time: what mutation testing plants.

This module knows which edits of a syntax tree are worth a try; it refuses to know how tests are run.

    >>> [mutant.what for mutant in mutants_of(ast.parse("def f(a):\\n    return a < 1"))]
    ['return a < 1: return None', 'a < 1: Lt → LtE', '1 → 2']

Left alone, because no promise hangs on them: sentences for people (strings with white space and the
text of f-strings), docstrings, annotations, ``__all__``, and the arguments of decorators.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

Function = ast.FunctionDef | ast.AsyncFunctionDef

SWAPPED: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
# Swapping their operator negates these already.
NEGATED_BY_SWAP = (ast.Eq, ast.NotEq, ast.Is, ast.IsNot, ast.In, ast.NotIn)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One fault that can be planted.

    Attributes:
        what: The edit, in one line.
        lines: First and last line of the statement that is edited.
        function: Qualified name of the outermost function around it, "" outside of any.
        plant: Edits the tree that it was made from, for good.
    """

    what: str
    lines: tuple[int, int]
    function: str
    plant: Callable[[], None]


def mutants_of(tree: ast.Module) -> list[Mutant]:
    """All faults that can be planted in a module, in the order of its text."""
    return list(_Walk().inside(tree, "", (1, 1), ()))


class _Walk:
    """One walk over a tree; every mutant holds the place in the tree that it edits."""

    def inside(
        self, parent: ast.AST, function: str, lines: tuple[int, int], scope: tuple[str, ...]
    ) -> Iterator[Mutant]:
        for place, node in _children(parent):
            at = _span(node) if isinstance(node, ast.stmt) else lines
            for what, new in _edits(node, parent):
                text = f"{_shown(node)}{what}"
                yield Mutant(what=text, lines=at, function=function, plant=partial(_put, parent, place, new))
            if isinstance(node, Function | ast.ClassDef):
                below = (*scope, node.name)
                # Defaults are evaluated where the function is defined, outside of it.
                if isinstance(node, Function):
                    yield from self.inside(node.args, function, at, below)
                name = function or (".".join(below) if isinstance(node, Function) else "")
                yield from self.inside(_Body(node), name, at, below)
            else:
                yield from self.inside(node, function, at, scope)


class _Body(ast.AST):
    """The statements of a definition without its name, decorators and annotations."""

    _fields = ("body",)

    def __init__(self, node: Function | ast.ClassDef) -> None:
        self.body = node.body


Place = tuple[str, int | None]


def _children(parent: ast.AST) -> Iterator[tuple[Place, ast.AST]]:
    skipped = {"annotation", "returns", "decorator_list", "format_spec", "ctx"}
    for name, value in ast.iter_fields(parent):
        if name in skipped:
            continue
        for index, node in enumerate(value if isinstance(value, list) else [value]):
            if isinstance(node, ast.AST) and not _is_prose(node, parent):
                yield (name, index if isinstance(value, list) else None), node


def _put(parent: ast.AST, place: Place, new: ast.AST) -> None:
    name, index = place
    if index is None:
        setattr(parent, name, new)
    else:
        getattr(parent, name)[index] = new


def _edits(node: ast.AST, parent: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """What a node can be replaced by, and how that is called."""
    for what, new in (*_operators(node, parent), *_values(node), *_statements(node)):
        yield what, ast.fix_missing_locations(ast.copy_location(new, node))
    if _decides(parent, node) and not _negated_otherwise(node):
        negated = ast.UnaryOp(op=ast.Not(), operand=node)
        yield ": negated", ast.fix_missing_locations(ast.copy_location(negated, node))


def _operators(node: ast.AST, parent: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    if isinstance(node, ast.Compare):
        for index, op in enumerate(node.ops):
            if (new := SWAPPED.get(type(op))) is not None:
                ops: list[Any] = [*node.ops[:index], new(), *node.ops[index + 1 :]]
                yield _arrow(op, new), ast.Compare(node.left, ops, node.comparators)
    elif isinstance(node, ast.BoolOp):
        new = SWAPPED[type(node.op)]
        yield _arrow(node.op, new), ast.BoolOp(new(), node.values)  # type: ignore[arg-type]
    elif isinstance(node, ast.BinOp | ast.AugAssign) and not _is_union(node, parent):
        if (new := SWAPPED.get(type(node.op))) is not None:
            first, last = (
                (node.left, node.right) if isinstance(node, ast.BinOp) else (node.target, node.value)
            )
            yield _arrow(node.op, new), type(node)(first, new(), last)  # type: ignore[arg-type]
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        yield f": without {type(node.op).__name__}", node.operand


def _values(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    if isinstance(node, ast.Constant) and not isinstance(node.value, bytes):
        value = node.value
        if isinstance(value, bool):
            yield f" → {not value}", ast.Constant(not value)
        elif isinstance(value, int | float):
            yield f" → {value + 1}", ast.Constant(value + 1)
        elif isinstance(value, str):
            yield " → 'XX…'", ast.Constant(f"XX{value}")


def _statements(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    match node:
        case ast.Return(value=value) if value is not None and not isinstance(value, ast.Constant):
            yield ": return None", ast.Return(ast.Constant(None))
        case ast.Raise() | ast.Break() | ast.Continue() | ast.AugAssign():
            yield ": removed", ast.Pass()
        case ast.Expr(value=ast.Call()):
            yield ": removed", ast.Pass()
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield ": removed", ast.Pass()


def _decides(parent: ast.AST, node: ast.AST) -> bool:
    if isinstance(parent, ast.comprehension):
        return node in parent.ifs
    return isinstance(parent, ast.If | ast.While | ast.IfExp) and node is parent.test


def _negated_otherwise(node: ast.AST) -> bool:
    if isinstance(node, ast.Compare):
        return len(node.ops) == 1 and isinstance(node.ops[0], NEGATED_BY_SWAP)
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)


def _is_prose(node: ast.AST, parent: ast.AST) -> bool:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return True  # a docstring
    if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
        return True
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        return False
    return isinstance(parent, ast.JoinedStr) or any(one.isspace() for one in node.value)


def _is_union(node: ast.AST, parent: ast.AST) -> bool:
    """``int | float`` as a type, not as a number."""
    of_types = isinstance(parent, ast.Call) and isinstance(parent.func, ast.Name)
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr) and of_types


def _span(node: ast.stmt) -> tuple[int, int]:
    """The lines of a statement; of one with a body, those before the body."""
    body = getattr(node, "body", None)
    return node.lineno, max(node.lineno, body[0].lineno - 1) if body else node.end_lineno or node.lineno


def _arrow(op: ast.AST, new: type[ast.AST]) -> str:
    return f": {type(op).__name__} → {new.__name__}"


def _shown(node: ast.AST) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 70 else f"{text[:69]}…"
