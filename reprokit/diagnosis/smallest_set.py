"""The smallest set that must be held fixed for two runs to be equal.

It is bisected: the shortest beginning of the list that is enough ends with a unit that is needed. With that
unit held, the search goes on among those before it. One unit of n takes about log2(n) experiments, k of them
k times as many.

Source: Junker, "QuickXplain: Preferred Explanations and Relaxations for Over-Constrained Problems", 2004.

    >>> isolate("abcd", enough=lambda held: "c" in held)
    ('c',)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

_Unit = TypeVar("_Unit")

#: Where more than one is needed, so few others are left out one by one, which takes fewer experiments.
_FEW = 3


def isolate(
    units: Sequence[_Unit], *, enough: Callable[[tuple[_Unit, ...]], bool], last: Sequence[_Unit] = ()
) -> tuple[_Unit, ...]:
    """The smallest set of units that it is enough to hold, none of which can be left out.

    Args:
        units: All of them; holding all is known to be enough, holding none is known not to be.
        enough: The experiment: whether holding these makes the runs equal. Asked about the same set
            only once.
        last: Units that are kept only where nothing else does.

    Returns:
        The set, in the order given.
    """
    known: dict[tuple[_Unit, ...], bool] = {tuple(units): True, (): False}

    def ask(held: Sequence[_Unit]) -> bool:
        key = tuple(one for one in units if one in held)
        if key not in known:
            known[key] = enough(key)
        return known[key]

    found: list[_Unit] = []
    rest = [one for one in units if one not in last]
    too_few = 0
    if not ask(rest):
        too_few = len(rest)
        rest += [one for one in units if one in last]
    while rest and not ask(found):
        if found and len(rest) <= _FEW:
            for one in tuple(rest):
                others = [other for other in rest if other != one]
                rest = others if ask([*found, *others]) else rest
            found += rest
            break
        short, long, too_few = too_few, len(rest), 0
        while long - short > 1:
            middle = (short + long) // 2
            if ask([*found, *rest[:middle]]):
                long = middle
            else:
                short = middle
        found.append(rest[long - 1])
        rest = rest[: long - 1]
    return tuple(one for one in units if one in found)
