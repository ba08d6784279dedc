"""The smallest set that must be held fixed for two runs to be equal.

Source: Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", 2002 (ddmin).

    >>> isolate("abcd", enough=lambda held: "c" in held)
    ('c',)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

_Unit = TypeVar("_Unit")


def isolate(
    units: Sequence[_Unit], *, enough: Callable[[tuple[_Unit, ...]], bool], last: Sequence[_Unit] = ()
) -> tuple[_Unit, ...]:
    """The smallest set of units that it is enough to hold, none of which can be left out.

    Args:
        units: All of them; holding all is known to be enough.
        enough: The experiment: whether holding these makes the runs equal. Asked about the same set
            only once.
        last: Units that are kept only where nothing else does: they are left out first, where they can be.

    Returns:
        The set, in the order given.
    """
    known: dict[tuple[_Unit, ...], bool] = {}

    def ask(held: Sequence[_Unit]) -> bool:
        key = tuple(held)
        if key not in known:
            known[key] = enough(key)
        return known[key]

    held = list(units)
    without = [one for one in held if one not in last]
    if len(without) < len(held) and without and ask(without):
        held = without
    return tuple(_reduced(held, ask))


def _reduced(held: list[_Unit], ask: Callable[[Sequence[_Unit]], bool]) -> list[_Unit]:
    parts = 2
    while len(held) >= 2:
        size = max(1, len(held) // parts)
        chunks = [held[at : at + size] for at in range(0, len(held), size)]
        smaller = next((chunk for chunk in chunks if len(chunk) < len(held) and ask(chunk)), None)
        if smaller is not None:
            held, parts = smaller, 2
            continue
        rests = ([one for one in held if one not in chunk] for chunk in chunks if len(chunks) > 2)
        rest = next((one for one in rests if one and ask(one)), None)
        if rest is not None:
            held, parts = rest, max(parts - 1, 2)
        elif size == 1:
            break
        else:
            parts = min(len(held), parts * 2)
    return held
