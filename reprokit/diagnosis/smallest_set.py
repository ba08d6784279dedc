"""The smallest set that must be held fixed for two runs to be equal.

It is bisected: the shortest beginning of the list that is enough ends with a unit that is needed. With that
unit held, the search continues among those before it. One unit of n takes about log2(n) experiments, k of
them k times as many; fewer, where what is likely weighs more.

Source: Junker, "QuickXplain: Preferred Explanations and Relaxations for Over-Constrained Problems", 2004.

    >>> isolate("abcd", enough=lambda held: "c" in held)
    ('c',)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import TypeVar

_Unit = TypeVar("_Unit")

#: Where more than one is needed, so few others are left out one by one, which takes fewer experiments.
_FEW = 3


def isolate(
    units: Sequence[_Unit],
    *,
    enough: Callable[[tuple[_Unit, ...]], bool],
    last: Sequence[_Unit] = (),
    weight: Callable[[_Unit], float] = lambda _: 1.0,
) -> tuple[_Unit, ...]:
    """The smallest set of units that it is enough to hold, none of which can be left out.

    Args:
        units: All of them; holding all is known to be enough, holding none is known not to be.
        enough: The experiment: whether holding these makes the runs equal. Asked about the same set
            only once.
        last: Units that are kept only where nothing else does.
        weight: How likely a unit is needed. It changes how many experiments are made, and not the answer.

    Returns:
        The set, in the order given.
    """
    known: dict[tuple[_Unit, ...], bool] = {tuple(units): True, (): False}

    def ask(held: Sequence[_Unit]) -> bool:
        key = tuple(unit for unit in units if unit in held)
        if key not in known:
            known[key] = enough(key)
        return known[key]

    found: list[_Unit] = []
    rest = [unit for unit in units if unit not in last]
    too_few = 0
    if not ask(rest):
        too_few = len(rest)
        rest += [unit for unit in units if unit in last]
    while rest and not ask(found):
        if found and len(rest) <= _FEW:
            for one in tuple(rest):
                others = [other for other in rest if other != one]
                rest = others if ask([*found, *others]) else rest
            found += rest
            break
        short, long, too_few = too_few, len(rest), 0
        while long - short > 1:
            middle = _middle([weight(one) for one in rest[short:long]], start=short)
            if ask([*found, *rest[:middle]]):
                long = middle
            else:
                short = middle
        found.append(rest[long - 1])
        rest = rest[: long - 1]
    return tuple(unit for unit in units if unit in found)


def _middle(weights: Sequence[float], *, start: int) -> int:
    """Where a list is divided: as much weight before as behind, and something in both."""
    before = list(accumulate(weights))
    half = before[-1] / 2
    at = min(range(len(weights) - 1), key=lambda one: abs(before[one] - half))
    return start + at + 1
