"""Which lines of a program call an operation whose claim of determinism was found false where it is to run.

    >>> [(one.line, one.operation) for one in false_calls("x.index_add_(0, i, y)", rows)]
    [(1, 'index_add')]

Names decide: a call is named where it may be the operation, whatever it is called on.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reprokit.core.determinism_claims import FALSE, judge


@dataclass(frozen=True, slots=True, kw_only=True)
class FalseCall:
    """A call: its ``line``, the ``operation`` that was measured, and ``why`` its claim is false."""

    line: int
    operation: str
    why: str


def false_calls(source: bytes | str, rows: Sequence[Mapping[str, Any]]) -> list[FalseCall]:
    """The calls of a source file, in the order of lines, each operation once a line.

    Args:
        source: Python; a file that is none has no calls.
        rows: What was measured, as ``reprokit env numerics claims`` keeps it.
    """
    false: dict[str, FalseCall] = {}
    for row in rows:
        judged = judge(row["claim"], row)
        if judged.verdict == FALSE:
            name = str(row["operation"]).split(" ", 1)[0]
            how = " compiled" if row["compiled"] else ""
            false.setdefault(
                _plain(name), FalseCall(line=0, operation=name, why=f"{row['phase']}{how}: {judged.why}")
            )
    text = _plain(source.decode("utf-8", "replace") if isinstance(source, bytes) else source)
    if not any(name in text for name in false):
        return []
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    found = {
        (node.lineno, one.operation): FalseCall(line=node.lineno, operation=one.operation, why=one.why)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and (one := false.get(_plain(_called(node.func))))
    }
    return [found[place] for place in sorted(found)]


def _called(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _plain(name: str) -> str:
    """``index_add_``, ``index_add`` and, of a module, ``IndexAdd`` are one name."""
    return name.replace("_", "").lower()
