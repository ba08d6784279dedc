"""The watch of calls: what every call of the program's own files is given, gives and leaves behind.

Orders: ``mode`` is ``watch`` (digests of all calls, or of all in the stretch ``window``), ``keep`` (the
results of the calls at ``sites``), ``give`` (those calls give what they gave in the run ``replay``),
``turns`` (tasks of thread pools one after another), ``one`` (threads of Python one at a time) or ``off``;
``entropy``, where it is there, is what the entropy that Python draws is to follow from.
"""

from __future__ import annotations

import ast
import builtins
import operator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..watch import Watch


def begin(watch: Watch) -> None:
    """From now on, compile the program's own files with their calls watched, as is ordered."""
    from .. import ast_transform
    from ..frames import real
    from . import rewriting, ticks

    orders: dict[str, Any] = watch.orders["calls"]
    if orders.get("entropy"):
        from . import held_entropy

        held_entropy.begin(orders["entropy"], watch.process)
    if orders["mode"] == "turns":
        from . import turns

        turns.begin(watch)
    if orders["mode"] == "one":
        from . import one_at_a_time

        one_at_a_time.begin(watch)
    if orders["mode"] not in {"watch", "keep", "give"}:
        return
    only = None if orders["mode"] == "watch" else frozenset(orders["sites"])
    functions = _functions(watch, orders)
    for name, one in functions.items():
        setattr(builtins, name, one)

    def rewrite(tree: ast.Module, path: str) -> ast.Module:
        places: list[str] = []
        made = rewriting.rewritten(tree, real(path), only=only, places=places)
        asked = functions.get(rewriting.TICKS)
        if type(asked) is dict:  # which is asked faster than one that makes what it lacks
            asked.update((place, ticks.pattern(ticks.FIRST)) for place in places)
        return made

    ast_transform.compile_with(rewrite)


def _functions(watch: Watch, orders: dict[str, Any]) -> dict[str, Any]:
    from . import rewriting, stream, substitution

    if orders["mode"] == "watch":
        record = stream.Stream(watch, orders.get("window"))
        return {
            rewriting.MATMUL: operator.matmul,
            rewriting.BEFORE: record.before,
            rewriting.AFTER: record.after,
            rewriting.ROUND: record.round,
            rewriting.TICKS: record.ticks,
            rewriting.ORDER: record.order,
        }
    keeps = orders["mode"] == "keep"
    made = substitution.Recorder(watch) if keeps else substitution.Replayer(watch, watch.orders["replay"])
    return {
        rewriting.MATMUL: operator.matmul,
        rewriting.BEFORE: made.before,
        rewriting.AFTER: made.after,
        rewriting.REBOUND: made.rebound,
    }
