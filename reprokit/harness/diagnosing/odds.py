"""How likely it is that runs were equal by luck, and how many runs make that unlikely.

Suppose that what was held decides nothing. Then a run in which it was held is one more run that was left
free, and equals another with the probability that two free runs are equal. Of that probability nothing is
known but how many free pairs differed (``differ``) and how many did not (``equal``): by Laplace's rule of
succession (every value of it is as likely before), ``repeated`` equal runs come by luck with the probability

    (equal + 1) ... (equal + repeated) / ((equal + differ + 2) ... (equal + differ + repeated + 1))

    >>> Odds(differ=4, equal=0, repeated=4).luck < 0.01, Odds(differ=4, equal=2, repeated=4).luck < 0.01
    (True, False)

Where the free runs differ from one another too (``apart``), a result that comes again is rarer. The worst
that is left is one usual result beside results that never come again: then the run that is repeated has to be
the one that had it. With every share of that result as likely before, and ``n = differ + 1`` free runs, luck
is

    (repeated + 1)! (n - 1)! (n + 1) / (2 (n + repeated + 1)!)

    >>> [Odds(differ=5, equal=0, repeated=2, apart=apart).luck < 0.01 for apart in (False, True)]
    [False, True]

Under varied conditions two groups of runs are compared: those with what is suspected, which differ from the
first, and those without, which equal it. If it decides nothing, one probability holds for both, and runs part
like that with the probability ``differ! repeated! / (differ + repeated + 1)!``. That nothing decides is as
likely before as that one of the ``looks`` suspicions does; so all runs count, those of the search too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from math import factorial, isfinite, prod
from typing import TYPE_CHECKING, Any

from reprokit import diagnosis
from reprokit.core.comparing.difference import Comparison
from reprokit.core.verdicts.rows import counted

if TYPE_CHECKING:
    from reprokit.harness.diagnosing.conditions import InstrumentedRun
    from reprokit.harness.diagnosing.inquiry import Investigation

#: In how many answers luck is accepted.
ACCEPTED = 0.01
#: So unlikely must luck be where digits are the proof and one run alone repeats another.
ACCEPTED_IN_DIGITS = 0.02
#: Rounding that goes another way moves a number by less than this; so many digits come again by no luck.
_ROUNDING, _DIGITS = 1e-4, 12
#: A number that was written with more decimals than this was not rounded for its reader.
_FEW_DECIMALS = 6
_MOST = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Odds:
    """What was seen of pairs of runs.

    Attributes:
        differ: Runs that were left free and differ from the first.
        equal: Runs that were left free and equal it.
        repeated: Runs that repeated another one because of what they were given.
        looks: How many suspicions were tried: of many, one is sooner equal by luck.
        by_replay: Whether they repeated it in so many digits that no luck does.
        varied: Whether conditions were varied: then ``differ`` and ``equal`` are runs under them, and
            ``repeated`` runs without what is suspected.
        apart: Whether no two of the runs that were left free are equal.
    """

    differ: int
    equal: int
    repeated: int
    looks: int = 1
    by_replay: bool = False
    varied: bool = False
    apart: bool = False

    @property
    def luck(self) -> float:
        """How likely so many runs are equal by luck for one of all that was tried."""
        pairs = self.differ + self.equal
        luck = self._luck_of_varied() if self.varied else self._luck_of_one(pairs)
        return min(1.0, self.looks * luck)

    def _luck_of_varied(self) -> float:
        sometimes = _share_of(self.differ, self.equal) if self.equal else 1.0
        return _share_of(self.differ, self.equal + self.repeated) / sometimes

    def _luck_of_one(self, pairs: int) -> float:
        if self.apart and self.repeated and not self.equal:
            made, again = pairs + 1, self.repeated
            return factorial(again + 1) * factorial(made - 1) * (made + 1) / (2 * factorial(made + again + 1))
        return prod((self.equal + 1 + one) / (pairs + 2 + one) for one in range(self.repeated))

    @property
    def enough(self) -> bool:
        return self.by_replay or self.luck < ACCEPTED

    @property
    def wanted(self) -> int:
        """How many runs have to be equal in all for luck to be unlikely."""
        tried = (replace(self, repeated=one).luck < ACCEPTED for one in range(_MOST))
        return next((number for number, unlikely in enumerate(tried) if unlikely), _MOST)

    def as_data(self) -> dict[str, Any]:
        """As the answer shows it; ``luck`` is null where digits are the proof."""
        return {
            "pairs": self.differ + self.equal,
            "differ": self.differ,
            "repeated": self.repeated,
            "looks": self.looks,
            "wanted": self.wanted,
            "by_replay": self.by_replay,
            "luck": None if self.by_replay else round(self.luck, 6),
        }

    def bound(self) -> str:
        """What was reached where the budget ended before luck was unlikely."""
        reached = f"{100 * self.luck:.2g} % of answers would be luck"
        return f"so far {reached}: {self.wanted} repeated runs are wanted, {self.repeated} were made"

    def sentence(self) -> str:
        """The number that stands next to the confidence."""
        verb = "differs" if self.differ == 1 else "differ"
        pairs = f"{self.differ} of {counted(self.differ + self.equal, 'pair')} of runs {verb}"
        if not self.repeated:
            return pairs
        if self.by_replay:
            runs = counted(self.repeated, "run")
            return f"{pairs}; with the replayed values {runs} matched the other in every digit"
        runs = counted(self.repeated, "run")
        if self.varied:
            pairs = f"{self.differ} of {counted(self.differ + self.equal, 'run')} with it differ"
            return f"{pairs}, {runs} without it are equal, by luck in {100 * self.luck:.2g} % of answers"
        return f"{pairs}; {runs} repeated another one, by luck in {100 * self.luck:.2g} % of answers"


def _share_of(differ: int, equal: int) -> float:
    """How likely so many runs differ and so many do not, in one order, with every probability as likely."""
    return factorial(differ) * factorial(equal) / factorial(differ + equal + 1)


def by_replay(inquiry: Investigation, ran: InstrumentedRun, *, held: Sequence[str]) -> bool:
    """Whether a run that became the first is proof: in full-precision values, and nothing else explains it.

    Of what was recorded and not held, all that differed between the first two runs differs from the first run
    in this one too; where something does not, it may be the cause as well. Nor is it proof where runs equal
    the first by themselves now and then.
    """
    if inquiry.repeats_by_itself:
        return False
    first, other = inquiry.first, inquiry.other
    differed = set(diagnosis.differing(first.trace, other.trace)) - set(held)
    if differed - set(diagnosis.differing(first.trace, ran.trace)):
        return False
    return in_full_precision(inquiry.lab.compare(first, other))


def in_full_precision(found: Comparison) -> bool:
    """Whether two runs differ by more than rounding from the first place on, and in many digits."""
    where = found.divergence
    if where is None or not (_is_number(where.expected) and _is_number(where.actual)) or by_rounding(found):
        return False
    digits = sum(char.isdigit() for char in repr(where.expected).partition("e")[0].lstrip("-0."))
    return digits * sum(one.mismatches for one in found.per_metric.values()) >= _DIGITS


def by_rounding(found: Comparison) -> bool:
    """Whether the first numbers that differ are so near that additions in another order may do it."""
    where = found.divergence
    if where is None or not (_is_number(where.expected) and _is_number(where.actual)):
        return False
    largest = max(abs(where.expected), abs(where.actual))
    return bool(abs(where.expected - where.actual) <= _ROUNDING * largest)


def rounded_otherwise(found: Comparison) -> bool:
    """The same, of numbers too that were written with few decimals: they differ by one unit of the last."""
    where = found.divergence
    if by_rounding(found) or where is None:
        return by_rounding(found)
    if not (_is_number(where.expected) and _is_number(where.actual)):
        return False
    decimals = max(_decimals(where.expected), _decimals(where.actual))
    unit = 10.0**-decimals
    return 0 < decimals <= _FEW_DECIMALS and abs(where.expected - where.actual) <= 1.01 * unit


def _decimals(value: float) -> int:
    """How many decimals a number was written with.

    >>> _decimals(0.125), _decimals(2), _decimals(1e-07)
    (3, 0, 7)
    """
    exponent = Decimal(repr(value)).as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and isfinite(value)
