"""The first update of parameters: does B's differ from A's by more than those of twins do, and how?

``D = |ΔB - ΔA| / |ΔA|``, where ``ΔA`` is by how much A's first update moves its parameters. ``D`` of at least
1e-4 and of more than four times what twins show is different, whatever metrics say. Where little is left of
``ΔB - ΔA`` beside a multiple of ``ΔA``, that multiple names the effect: another learning rate does the same.

Parameters that rounding alone moves by more than 1 % of their own update are left out: Adam makes whole steps
of gradients that are zero but for rounding.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reprokit.features.compare.rounding.rule import ENOUGH, FACTOR, HORIZON, Finding

#: A first update so far off, as a part of itself, is never equal or rounding.
LEAST = 1e-4
#: A smaller multiple is not told: constants of an optimizer that are rounded otherwise move all parameters by
#: up to 2.5e-7 of their update.
_LEAST_SLOPE = 4 * 2.0**-23
#: What is not left out must be so much of the square of the update.
_MOST_OF_IT = 0.95
#: So much beside the multiple is little.
_REST = 1e-2


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """By how much one run's first update moved its parameters.

    Attributes:
        step: The number of the update, from 1: earlier ones moved nothing.
        shapes: Of each tensor.
        every: 1 where every parameter was recorded, 2 where every second one was, and so on.
        values: What was recorded of each tensor.
    """

    step: int
    shapes: tuple[tuple[int, ...], ...]
    every: int
    values: tuple[NDArray[np.float64], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstFinding:
    """What the first updates say.

    Attributes:
        finding: Equal bit for bit, within what rounding does, different, or not judged.
        is_seen: Whether parameters were seen at all; where they were not, metrics alone decide.
        why: Why it is not judged or not seen; "" where it is.
        step: The number of the update, from 1.
        difference: D.
        of_twins: The largest D of a twin; None without twins.
        slope: The multiple of A's update in what differs; None where it is not told.
        slope_of_twins: The largest of a twin; None without twins.
        residual: What is left beside the multiple, as a part of A's update.
        parameters: How many were compared.
        of: How many the update moved.
        left_out: How many of the recorded ones rounding alone moves too far.
    """

    finding: Finding
    is_seen: bool = True
    why: str = ""
    step: int | None = None
    difference: float | None = None
    of_twins: float | None = None
    slope: float | None = None
    slope_of_twins: float | None = None
    residual: float | None = None
    parameters: int = 0
    of: int = 0
    left_out: int = 0

    @property
    def ratio(self) -> float:
        """How many times as far off as twins; 0.0 where that is not known."""
        if not self.difference or self.of_twins is None:
            return 0.0
        return self.difference / self.of_twins if self.of_twins else math.inf

    def as_data(self) -> dict[str, Any]:
        """For the report."""
        return {**asdict(self), "finding": str(self.finding)}


def is_far(a: Moved, b: Moved) -> bool:
    """Whether twins must show that rounding alone does not do it."""
    return a.shapes == b.shapes and (a.step != b.step or _distance(a.values, b.values) >= LEAST)


def judged_first(a: Moved, b: Moved, twins: Sequence[Moved]) -> FirstFinding:
    """Compare the first updates of A, B and twins of A."""
    of = sum(math.prod(shape) for shape in a.shapes)
    if a.shapes != b.shapes:
        return not_seen("the sides' first updates are of parameters of other shapes")
    if a.step != b.step:
        why = f"parameters move first in update {a.step} of side a, and in update {b.step} of side b"
        return FirstFinding(finding=Finding.DIFFERENT, why=why, step=a.step, of=of)
    same = [one for one in twins if (one.shapes, one.step) == (a.shapes, a.step)]
    if len(same) < len(twins):
        return unjudged_first("a twin's first update is of other parameters")
    one, two, *others = (np.concatenate([np.ravel(value) for value in each.values]) for each in (a, b, *same))
    kept = _steady(one, others)
    told: dict[str, Any] = {"step": a.step, "of": of, "parameters": int(kept.sum())}
    told["left_out"] = one.size - told["parameters"]
    size = float(np.linalg.norm(one[kept]))
    if size**2 < _MOST_OF_IT * float(one @ one):
        why = f"rounding alone moves much of the first update by more than {HORIZON:.0%}"
        return FirstFinding(finding=Finding.UNJUDGED, is_seen=False, why=why, **told)
    difference = float(np.linalg.norm((two - one)[kept])) / size
    told["difference"] = difference
    apart = [(twin - one)[kept] for twin in others]
    if apart:
        told["of_twins"] = max(float(np.linalg.norm(off)) for off in apart) / size
        told |= _slope(one[kept], two[kept], apart)
    return FirstFinding(**_found(a, b, difference, told.get("of_twins"), len(apart)), **told)


def _found(a: Moved, b: Moved, difference: float, of_twins: float | None, twins: int) -> dict[str, Any]:
    if all(map(np.array_equal, a.values, b.values)):
        return {"finding": Finding.EQUAL}
    if difference < LEAST:
        return {"finding": Finding.ROUNDING}
    if twins < ENOUGH or of_twins is None:
        return {
            "finding": Finding.UNJUDGED,
            "why": f"the first update is {difference:.1g} of itself off, and there are too few twins of it",
        }
    if not of_twins:
        return {"finding": Finding.UNJUDGED, "why": "twins move the first update by nothing"}
    if difference > FACTOR * of_twins:
        return {"finding": Finding.DIFFERENT}
    return {
        "finding": Finding.UNJUDGED,
        "why": f"the first update is {difference:.1g} of itself off, and twins' up to {of_twins:.1g}",
    }


def not_seen(why: str) -> FirstFinding:
    """Nothing is known of parameters, so that metrics alone decide."""
    return FirstFinding(finding=Finding.UNJUDGED, is_seen=False, why=why)


def unjudged_first(why: str) -> FirstFinding:
    """Parameters are there to be seen, and were not: nothing is equal or rounding."""
    return FirstFinding(finding=Finding.UNJUDGED, why=why)


def _slope(
    one: NDArray[np.float64], two: NDArray[np.float64], apart: Sequence[NDArray[np.float64]]
) -> dict[str, float]:
    """The multiple of A's update, where it is beyond that of twins and the rest is little or as theirs."""
    square = float(one @ one)
    slopes = [float(off @ one) / square for off in apart]
    slope = float((two - one) @ one) / square
    rest = float(np.linalg.norm(two - one - slope * one))
    farthest = max(float(np.linalg.norm(off - own * one)) for off, own in zip(apart, slopes, strict=True))
    most = max(map(abs, slopes))
    told = {"slope_of_twins": most, "residual": rest / math.sqrt(square)}
    little = max(FACTOR * farthest, _REST * abs(slope) * math.sqrt(square))
    if abs(slope) > max(FACTOR * most, _LEAST_SLOPE) and rest <= little:
        told["slope"] = slope
    return told


def _steady(one: NDArray[np.float64], twins: Sequence[NDArray[np.float64]]) -> NDArray[np.bool_]:
    """Which parameters no twin moves too far."""
    kept = np.ones(one.size, dtype=bool)
    for twin in twins:
        kept &= np.abs(twin - one) <= HORIZON * np.abs(one)
    return kept


def _distance(one: Sequence[NDArray[np.float64]], two: Sequence[NDArray[np.float64]]) -> float:
    apart = math.sqrt(sum(float(np.sum((b - a) ** 2)) for a, b in zip(one, two, strict=True)))
    return apart / math.sqrt(sum(float(np.sum(a**2)) for a in one))
