"""How many runs show that what was held is the cause, and that it was no luck.

Suppose that something unrecorded decides every run, whatever is held. Then a run in which the suspected
lines were held equals the first by luck, and one that was given the other run's values becomes the other by
luck. The search goes where such runs are equal, so what it has seen shows little: what counts are the runs
after it. And the more different results runs have had, the less likely is it that one comes again by luck.
"""

from __future__ import annotations

from dataclasses import dataclass

#: Where runs had two results: equal runs, runs that became the other, and runs that differed, these included.
EQUAL_RUNS, MOVES, DIFFERENT_RUNS = 3, 2, 4
#: How many of more results it takes for less equal runs.
MANY, EQUAL_OF_MANY = 3, 2
#: Results → runs after the search that repeated the first or the other one.
_REPEATED = {2: 4, 3: 3}
_REPEATED_OF_MORE = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class SuspicionEvidence:
    """What was seen of a suspicion.

    Attributes:
        equal: Runs in which it was held, with whatever else; all of them equal the first.
        confirmed: Those of them that were made after the search.
        moved: Runs that were given the other run's values, and became that run.
        free: Runs that differ, in which it was not held.
        results: How many different results runs had.
        varied: Whether the other run was made under variations: two runs without them are equal.
    """

    equal: int
    confirmed: int
    moved: int
    free: int
    results: int
    varied: bool

    @property
    def equal_wanted(self) -> int:
        """How many equal runs it takes."""
        return EQUAL_OF_MANY if self._many else EQUAL_RUNS

    @property
    def left(self) -> int:
        """How many more runs it takes, where each confirms it."""
        equal = max(0, self.equal_wanted - self.equal)
        return equal + self._moves_left(self.confirmed + equal)

    @property
    def moves_left(self) -> int:
        """How many more runs have to be given the other's values, and to become that run."""
        return self._moves_left(self.confirmed)

    def _moves_left(self, confirmed: int) -> int:
        repeated = (
            0 if self.varied else _REPEATED.get(self.results, _REPEATED_OF_MORE) - confirmed - self.moved
        )
        if self._many:
            return max(0, 1 - self.moved, repeated)
        moves = MOVES - self.varied  # where two runs are equal, no luck makes one differ often
        return max(0, moves - self.moved, DIFFERENT_RUNS - self.free - self.moved, repeated)

    @property
    def _many(self) -> bool:
        return self.results >= MANY and not self.varied
