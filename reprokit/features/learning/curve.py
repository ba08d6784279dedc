"""The learning curve as a table: what greedy evaluation reached, and when."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_PREFIX, _MEAN, _STD = "eval/", "return_mean", "return_std"


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One evaluation: environment steps before it, mean return, standard deviation (None: not logged)."""

    metric: str
    step: int
    mean: float
    std: float | None


def learning_curve(
    curves: Mapping[str, tuple[Sequence[float], Sequence[float]]], *, most: int = 10
) -> tuple[Point, ...]:
    """At most ``most`` evaluations of each metric, evenly spread, the first and the last among them."""
    return tuple(
        Point(metric=name, step=int(steps[at]), mean=values[at], std=_std(curves, name, steps[at]))
        for name, (steps, values) in sorted(curves.items())
        if name.startswith(_PREFIX) and name.endswith(_MEAN)
        for at in _spread(len(values), most)
    )


def _spread(count: int, most: int) -> list[int]:
    if count <= most:
        return list(range(count))
    return [round(row * (count - 1) / (most - 1)) for row in range(most)]


def _std(
    curves: Mapping[str, tuple[Sequence[float], Sequence[float]]], name: str, step: float
) -> float | None:
    steps, values = curves.get(name.removesuffix(_MEAN) + _STD, ((), ()))
    return dict(zip(steps, values, strict=True)).get(step)
