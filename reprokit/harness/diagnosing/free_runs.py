"""Runs in which what is suspected was left free: how unlikely it is that others repeat one by luck."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

from reprokit.errors import MetricsError
from reprokit.harness.diagnosing.conditions import InstrumentedRun
from reprokit.harness.diagnosing.inquiry import Investigation
from reprokit.harness.diagnosing.odds import ACCEPTED, ACCEPTED_IN_DIGITS, Odds, in_full_precision


def same(inquiry: Investigation, first: InstrumentedRun, second: InstrumentedRun) -> bool:
    """Whether two runs have the same numbers; one that left none equals no other."""
    try:
        return inquiry.lab.equal(first, second)
    except MetricsError:
        return False


class FreeRuns:
    """Runs under natural conditions, each pair of them compared once.

    Those with recorded lines held are among them: no line that was held made them equal.

    Args:
        more: Runs besides the first two and those with lines held.
    """

    def __init__(self, inquiry: Investigation, more: Sequence[InstrumentedRun] = ()) -> None:
        self._inquiry = inquiry
        runs = [inquiry.first, inquiry.other, *inquiry.whole_runs, *more]
        self._runs = list({one.label: one for one in runs}.values())  # one may be there as both
        self._pairs: dict[tuple[str, str], bool] = {}

    def add(self, ran: InstrumentedRun) -> None:
        """Count one more."""
        self._runs.append(ran)

    @property
    def all_differ(self) -> bool:
        """Whether no two of them are equal."""
        return not self._inquiry.free_equal and self._are_apart(self._runs)

    def odds(
        self,
        repeated: int,
        standard: InstrumentedRun,
        *,
        looks: int = 1,
        source: InstrumentedRun | None = None,
    ) -> Odds:
        """Of so many runs that equal another one, from how many of the free ones equal that one.

        ``source``: the run whose results were given, which those that were given them may well equal.
        """
        others = [one for one in self._runs if one is not standard and one is not source]
        found = [self._equal(standard, one) for one in others]
        unseen = self._inquiry.free_equal  # runs that equal the first, of which no more is known
        found += [self._equal(standard, self._inquiry.first)] * unseen
        equal = sum(found)
        apart = not (equal or unseen) and self._are_apart(others)
        odds = Odds(differ=len(found) - equal, equal=equal, repeated=repeated, looks=looks, apart=apart)
        if apart and repeated and ACCEPTED <= odds.luck < ACCEPTED_IN_DIGITS:
            digits = in_full_precision(self._inquiry.lab.compare(standard, others[0]))
            return replace(odds, by_replay=digits)
        return odds

    def _are_apart(self, runs: Sequence[InstrumentedRun]) -> bool:
        return not any(self._equal(one, other) for one, other in combinations(runs, 2))

    def _equal(self, one: InstrumentedRun, other: InstrumentedRun) -> bool:
        key = one.label, other.label
        if key not in self._pairs:
            self._pairs[key] = same(self._inquiry, one, other)
        return self._pairs[key]
