"""Which rounds of a loop, and which calls of a function, are watched: the first ones, then each sixteenth.

The statements of a loop and of a function stand twice in the compiled code, with and without the watch, and a
tick decides which are run. Most ticks are asked in compiled code; the count is kept where a round is watched.

>>> ticks = Ticks()
>>> [ticks["a loop"]() for _ in range(18)].count(True)
17
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

FIRST, EACH = 16, 16
_PATTERN = (True, *(False for _ in range(EACH - 1)))


class Ticks(dict):  # type: ignore[type-arg]
    """Place → what says whether its next round is watched."""

    def __missing__(self, place: str) -> Callable[[], bool]:
        pattern = itertools.chain(itertools.repeat(True, FIRST), itertools.cycle(_PATTERN))
        made = self[place] = pattern.__next__
        return made


def number_of(watched: int) -> int:
    """The number of the round that was watched as so many-th, from 0."""
    return watched if watched < FIRST else FIRST + (watched - FIRST) * EACH


class Window(dict):  # type: ignore[type-arg]
    """Ticks by which every round between two moments is watched; before and after them they tick as ever.

    Args:
        first: The place and the number of the round at which it begins; None for the program's beginning.
        last: Of the round before which it ends; None for the program's end.
        most: So many rounds of one place are all watched in it, then each sixteenth.
    """

    def __init__(self, first: list[Any] | None, last: list[Any] | None, most: int) -> None:
        super().__init__()
        self._first, self._last, self._most = first, last, most
        self._open = first is None
        self._counts: dict[str, int] = {}
        self._inside: dict[str, int] = {}

    def __missing__(self, place: str) -> Callable[[], bool]:
        def tick() -> bool:
            number = self._counts[place] = self._counts.get(place, -1) + 1
            if self._open:
                if self._last == [place, number]:
                    self._open = False
            elif self._first == [place, number]:
                self._open = True
            if self._open:
                inside = self._inside[place] = self._inside.get(place, -1) + 1
                if inside < self._most:
                    return True
            return number < FIRST or not (number - FIRST) % EACH

        self[place] = tick
        return tick

    def number(self, place: str) -> int:
        """The number of the round that a place is in."""
        return self._counts.get(place, 0)
