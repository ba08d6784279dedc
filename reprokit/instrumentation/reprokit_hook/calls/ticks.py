"""Which rounds of a loop, and which calls of a function, are watched: the first ones, then ever fewer.

The statements of a loop and of a function stand twice in the compiled code, with and without the watch, and a
tick decides which are run. Ticks are asked in compiled code; the count is kept where a round is watched.

>>> ticks = Ticks()
>>> [ticks["a loop"]() for _ in range(128)].count(True)
80
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

#: So many first rounds are all watched; from then on so many of each stretch that is twice as long.
FIRST, OF_EACH = 64, 16


class Ticks(dict):  # type: ignore[type-arg]
    """Place → what says whether its next round is watched."""

    def __missing__(self, place: str) -> Callable[[], bool]:
        made = self[place] = pattern(FIRST)
        return made


def pattern(first: int) -> Callable[[], bool]:
    """What says of each round whether it is watched, where the ``first`` ones all are."""
    return itertools.chain(itertools.repeat(True, first), itertools.chain.from_iterable(_later())).__next__


def _later() -> Iterator[Iterator[bool]]:
    for step in _steps():
        for _ in range(OF_EACH):
            yield itertools.chain((True,), itertools.repeat(False, step - 1))


def _steps() -> Iterator[int]:
    """How far watched rounds are apart, from stretch to stretch."""
    step = FIRST // OF_EACH
    while True:
        yield step
        step *= 2


def number_of(watched: int) -> int:
    """The number of the round that was watched as so many-th; both count from 0.

    >>> [number_of(one) for one in (63, 64, 65, 80)]
    [63, 64, 68, 128]
    """
    if watched < FIRST:
        return watched
    stretch, place = divmod(watched - FIRST, OF_EACH)
    return (FIRST << stretch) + place * (FIRST // OF_EACH << stretch)


class Window(dict):  # type: ignore[type-arg]
    """Ticks by which from one moment on so many rounds of each place are watched; before it they are as ever.

    Args:
        first: The place and the number of the round at which it begins; None for the program's beginning.
        most: So many rounds of each place are all watched from there on, then ever fewer.
    """

    def __init__(self, first: list[Any] | None, most: int) -> None:
        super().__init__()
        self._first, self._most = first, most
        self._open = first is None
        self._counts: dict[str, int] = {}

    def __missing__(self, place: str) -> Callable[[], bool]:
        before, inside = pattern(FIRST), pattern(self._most)

        def tick() -> bool:
            number = self._counts[place] = self._counts.get(place, -1) + 1
            self._open = self._open or self._first == [place, number]
            return inside() if self._open else before()

        self[place] = tick
        return tick

    def number(self, place: str) -> int:
        """The number of the round that a place is in."""
        return self._counts.get(place, 0)
