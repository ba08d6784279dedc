"""The rule: is B apart from A by no more than rounding puts twins of A apart?

Record by record and metric by metric, ``R = |B - A| / max(E, floor)``, where ``E`` is the largest distance of
any twin from A so far, and ``floor`` four units in the last place, or one printed unit. R of at most 4 is
rounding. From the record on at which twins themselves are 1 % of the metric away, bits say nothing.

The constants were chosen on the trial of November 2026 and are measured again by ``benchmarks/rounding.py``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from reprokit.features.compare.rounding.metric_kinds import kind_of

#: So much farther than the twins is no rounding.
FACTOR = 4.0
#: What fewer twins than these have shows nothing.
ENOUGH = 4
#: Twins so far away, as a part of the metric, say nothing any more.
HORIZON = 1e-2
_FLOOR_ULPS = 4.0
#: A jump after so many records inside is no proof, if the twins jump as far later on.
_INSIDE_BEFORE_JUMP, _JUMP, _AS_FAR = 3, 10.0, 3.0
#: From one record to the next R does not grow so many times by what a change does in proportion.
_STEADY = 5.0
#: ε of single precision.
SINGLE_EPSILON = 2.0**-23


class Finding(StrEnum):
    """What the rule says."""

    EQUAL = "equal"
    ROUNDING = "rounding"
    DIFFERENT = "different"
    UNJUDGED = "unjudged"


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricFinding:
    """One metric.

    Attributes:
        finding: What the rule says of it.
        ratio: The largest R up to the horizon; 0.0 where nothing was judged.
        steady: The largest before R becomes five times what it was: up to there half a change moves half.
        at: The record of the largest R, or of the first above the bound; None where nothing differs.
        until: Number of records that were judged.
        records: Number of records that it has.
        why: Why it is not judged, or only partly; "" where it is.
    """

    finding: Finding
    ratio: float = 0.0
    steady: float = 0.0
    at: int | None = None
    until: int = 0
    records: int = 0
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """All metrics together.

    Attributes:
        finding: The gravest: different, then unjudged, then rounding.
        metrics: Metric → what is said of it.
        first: The metric and record where B first leaves what rounding does; None where it does not.
        until: Up to which record all that differs was judged.
    """

    finding: Finding
    metrics: Mapping[str, MetricFinding] = field(default_factory=dict)
    first: tuple[str, int] | None = None
    until: int = 0

    @property
    def ratio(self) -> float:
        """The largest R of all metrics."""
        return max((one.ratio for one in self.metrics.values()), default=0.0)


Values = Mapping[str, Sequence[float]]


def judged(
    a: Values,
    b: Values,
    twins: Sequence[Values],
    *,
    short: Sequence[Values] = (),
    epsilon: float = SINGLE_EPSILON,
    sides: tuple[str, str] = ("a", "b"),
) -> Judged:
    """Compare B with A and its twins.

    Args:
        a: Metric → its values, record by record.
        b: The same of the other side.
        twins: The same of each twin.
        short: The same of twins that were ended early: their first records alone.
        epsilon: The ε of the dtype in which the program computes.
        sides: How sentences call A and B.
    """
    found = {
        name: _of_metric(name, a, b, twins, short, epsilon=epsilon, sides=sides) for name in a if name in b
    }
    found |= {name: unjudged("only one side has it") for name in sorted({*a} ^ {*b})}
    return together(found)


def together(found: Mapping[str, MetricFinding]) -> Judged:
    """What is said of all metrics, from what is said of each."""
    graver = (Finding.DIFFERENT, Finding.UNJUDGED, Finding.ROUNDING)
    present = {one.finding for one in found.values()}
    finding = next((one for one in graver if one in present), Finding.EQUAL)
    left = [(one.at, name) for name, one in found.items() if one.finding is Finding.DIFFERENT]
    first = min(((at, name) for at, name in left if at is not None), default=None)
    return Judged(
        finding=finding,
        metrics=found,
        first=(first[1], first[0]) if first else None,
        until=min((one.until for one in found.values() if one.finding is not Finding.EQUAL), default=0),
    )


def _of_metric(
    name: str,
    a: Values,
    b: Values,
    twins: Sequence[Values],
    short: Sequence[Values],
    *,
    epsilon: float,
    sides: tuple[str, str],
) -> MetricFinding:
    one, two = list(a[name]), list(b[name])
    others = [list(twin[name]) for twin in twins if name in twin and len(twin[name]) == len(one)]
    size = len(one)
    if one == two or (len(two) == size and all(map(_same, one, two))):
        return MetricFinding(finding=Finding.EQUAL, until=size, records=size)
    if len(two) != size:
        return unjudged(f"{sides[0]} has {size} values of it, {sides[1]} {len(two)}", records=size)
    if len(others) < len(twins):
        return unjudged("not every twin has as many values of it", records=size)
    others += [list(twin[name][:size]) for twin in short if name in twin]
    kind = kind_of([v for values in (one, two, *others) for v in values if math.isfinite(v)])
    if kind.counts:
        first = next(at for at in range(size) if not _same(one[at], two[at]))
        why = f"it counts whole things, which show no rounding; it differs from record {first} on"
        return unjudged(why, until=first, records=size)
    return _judge(one, two, others, unit=kind.unit, epsilon=epsilon, other_side=sides[1])


def bound_of(one: Sequence[float], twins: Sequence[Sequence[float]], *, epsilon: float) -> list[float]:
    """The most that rounding explains of a metric, record by record, up to the horizon."""
    unit = kind_of([value for values in (one, *twins) for value in values if math.isfinite(value)]).unit
    floors = _floors(one, twins, unit=unit, epsilon=epsilon)
    return [FACTOR * floor for floor in floors if floor is not None]


def _floors(
    one: Sequence[float], twins: Sequence[Sequence[float]], *, unit: float, epsilon: float
) -> Iterator[float | None]:
    """What B's distance is divided by, record by record; None from the horizon on."""
    spread = 0.0
    for at, value in enumerate(one[: _reach(twins)]):
        values = [twin[at] for twin in twins if at < len(twin)]
        if not all(map(math.isfinite, (value, *values))):
            if not all(_same(value, other) for other in values):
                yield None
                return
            yield 0.0
            continue
        spread = max([spread, *(abs(other - value) for other in values)])
        if spread > HORIZON * abs(value) and not _is_zero(one, twins, at):
            yield None
            return
        yield max(spread, _FLOOR_ULPS * _ulp(value, epsilon), unit)


def _reach(twins: Sequence[Sequence[float]]) -> int:
    """The number of records that enough twins have."""
    sizes = sorted(map(len, twins), reverse=True)
    return sizes[min(ENOUGH, len(sizes)) - 1] if sizes else 0


def _judge(
    one: Sequence[float],
    two: Sequence[float],
    twins: Sequence[Sequence[float]],
    *,
    unit: float,
    epsilon: float,
    other_side: str,
) -> MetricFinding:
    ratios: list[float] = []
    for value, other, floor in zip(one, two, _floors(one, twins, unit=unit, epsilon=epsilon), strict=False):
        if floor is None:
            break
        if _same(value, other):
            ratios.append(0.0)
        elif not math.isfinite(other) or not math.isfinite(value):
            ratios.append(math.inf)
        else:
            ratios.append(abs(other - value) / floor if floor else math.inf)
    until = len(ratios)
    reach, steady = _reach(twins), _before_jump(ratios)
    outside = next((at for at, ratio in enumerate(ratios) if ratio > FACTOR), None)
    if outside is not None:
        is_jump = _is_jump(ratios, outside)
        if is_jump and reach < len(one):
            why = f"{other_side} jumps at record {outside}, and twins were made of the first {reach} alone"
            return unjudged(why, until=outside, records=len(one))
        if is_jump and _twins_jump_as_far(one, two, twins, outside, until):
            return unjudged(
                f"{other_side} jumps at record {outside} by no more than twins do later: a decision may have "
                "flipped",
                until=outside,
                records=len(one),
            )
        return MetricFinding(
            finding=Finding.DIFFERENT,
            ratio=max(ratios),
            steady=steady,
            at=outside,
            until=until,
            records=len(one),
        )
    ratio = max(ratios, default=0.0)
    where = ratios.index(ratio) if ratio else None
    rest = next((at for at in range(until, len(one)) if not _same(one[at], two[at])), None)
    if rest is None:
        return MetricFinding(
            finding=Finding.ROUNDING, ratio=ratio, steady=steady, at=where, until=until, records=len(one)
        )
    why = f"from record {until} on rounding alone moves it by more than {HORIZON:.0%}"
    if until == reach:
        why = f"twins were made of its first {reach} records alone"
    return MetricFinding(
        finding=Finding.UNJUDGED, ratio=ratio, at=where, until=until, records=len(one), why=why
    )


def _is_zero(one: Sequence[float], twins: Sequence[Sequence[float]], at: int) -> bool:
    """Whether a metric is zero but for rounding so far: twins are as large as the metric, each record."""
    return all(
        max(abs(twin[record]) for twin in twins if record < len(twin)) <= 1e-5
        and max(abs(twin[record] - one[record]) for twin in twins if record < len(twin))
        >= 0.1 * abs(one[record])
        for record in range(at + 1)
    )


def _is_jump(ratios: Sequence[float], outside: int) -> bool:
    """Whether B was apart, and inside, for some records, and left at once."""
    began = next(at for at, ratio in enumerate(ratios) if ratio > 0)
    if outside - began < _INSIDE_BEFORE_JUMP or max(ratios[:outside]) > 1:
        return False
    return ratios[outside] >= _JUMP * max(ratios[max(outside - _INSIDE_BEFORE_JUMP, 0) : outside])


def _before_jump(ratios: Sequence[float]) -> float:
    largest = 0.0
    for ratio in ratios:
        if largest and ratio >= _STEADY * largest:
            break
        largest = max(largest, ratio)
    return largest


def _twins_jump_as_far(
    one: Sequence[float], two: Sequence[float], twins: Sequence[Sequence[float]], outside: int, until: int
) -> bool:
    highest = max(
        (abs(twin[at] - one[at]) for twin in twins for at in range(len(twin)) if math.isfinite(twin[at])),
        default=0.0,
    )
    return max(abs(two[at] - one[at]) for at in range(outside, until)) <= _AS_FAR * highest


def _ulp(value: float, epsilon: float) -> float:
    """One unit in the last place of a value of the program's precision, at least of single precision."""
    if value == 0:
        return 0.0
    return min(epsilon, SINGLE_EPSILON) * 2.0 ** math.floor(math.log2(abs(value)))


def unjudged(why: str, *, until: int = 0, records: int = 0) -> MetricFinding:
    """A metric about which nothing can be said from some record on, and why."""
    return MetricFinding(finding=Finding.UNJUDGED, until=until, records=records, why=why)


def _same(one: float, two: float) -> bool:
    return one == two or (math.isnan(one) and math.isnan(two))
