"""``golden tolerance``: the narrowest tolerances that rounding keeps, shown and never written.

Twins of the golden's run show how far rounding moves each metric. A bound is four times the farthest twin,
for single values and for means of several; how often a twin is outside what the others give says how often it
is a false alarm.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from reprokit import adapters, golden, recipes, runs
from reprokit.errors import CannotJudgeError, CannotRunError, GoldenError
from reprokit.features.compare.rounding.evidence import must_be_twins, series_of, updates_of
from reprokit.features.compare.rounding.rule import FACTOR
from reprokit.features.compare.rounding.twin_runs import whole_twins
from reprokit.harness.running.run_kinds import VariedRun, WholeRun
from reprokit.harness.running.start_runs import run_recipe
from reprokit.layout import METRICS
from reprokit.records import environment_json
from reprokit.request import Request
from reprokit.session import Session

#: Of how many consecutive values means are tried.
MEANS = (1, 10, 100)
#: A metric's smallest bound: units in the last place of single precision.
_LEAST = 4 * 2.0**-24


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """What rounding needs of one metric, judged by means of so many values.

    Attributes:
        metric: Its name.
        mean_of: Of how many consecutive values a mean is compared; 1 for each value.
        rtol: The relative tolerance; None where there is none, and why.
        false_alarms: How many twins are outside the bound that the other twins give.
        at_most: The share of false alarms that so many of so many leave possible, at 95 %.
        sees_control: Whether a learning rate 0.1 % higher is outside it.
        why: Why there is none; "" where there is.
    """

    metric: str
    mean_of: int
    rtol: float | None
    false_alarms: int = 0
    at_most: float = 1.0
    sees_control: bool = False
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """All bounds, and those that are proposed.

    Attributes:
        recipe: Its name.
        seed: The golden's.
        golden: Its folder.
        num_twins: How many twins were made.
        bounds: Every metric and every window.
        proposed: Metric → ``rtol`` and ``mean_of``, as a recipe has them.
        runs: The run folders.
    """

    recipe: str
    seed: int
    golden: str
    num_twins: int
    bounds: tuple[Bound, ...]
    proposed: Mapping[str, Mapping[str, float | int]]
    runs: tuple[str, ...]

    def as_data(self) -> dict[str, Any]:
        """For ``--json``."""
        return asdict(self)


def propose(name: str, request: Request, *, num_twins: int, session: Session) -> Proposal:
    """Make the golden's run again and its twins, and say what tolerance rounding needs.

    Raises:
        CannotRunError: The recipe does not run.
        GoldenError: It has no golden here.
        CannotJudgeError: The golden's numbers are not had again, or no twin can be made.
    """
    recipe = recipes.load(name, recipes_dir=session.project.recipes_dir, overrides=request.overrides)
    (again,) = run_recipe(recipe, request, WholeRun(), session=session)
    run = runs.read(again)
    if not run.complete:
        raise CannotRunError(f"{name} does not run: {run.record.message or run.incomplete_because}")
    blessed = _golden_of(recipe, again, request, session=session)

    def make(variation: Any, number: int) -> Path:
        return run_recipe(recipe, request, VariedRun(number=number, chosen=(variation,)), session=session)[0]

    made = whole_twins(make, num_twins, updates_of=updates_of)
    must_be_twins(again, made)
    first = {name: list(one.values) for name, one in series_of(again).items()}
    others = [{name: list(one.values) for name, one in series_of(run).items()} for run in made.folders]
    bounds = tuple(
        bound_of(metric, values, [one.get(metric, []) for one in others], mean_of=mean_of)
        for metric, values in first.items()
        for mean_of in MEANS
        if mean_of == 1 or mean_of <= len(values) // 2
    )
    return Proposal(
        recipe=name,
        seed=blessed.seed,
        golden=str(blessed.path),
        num_twins=len(made.twins),
        bounds=bounds,
        proposed=proposed_of(bounds),
        runs=tuple(map(str, (again, *made.folders))),
    )


def _golden_of(recipe: recipes.Recipe, again: Path, request: Request, *, session: Session) -> golden.Golden:
    """The golden, whose numbers the run must have: twins of another run say nothing of it."""
    place = golden.locate_for(
        session.project.golden_dir,
        recipe=recipe.name,
        environment=environment_json.recorded(again),
        seed=request.seed_of(recipe.seeds),
    )
    if not place.is_dir():
        fix = f"`reprokit reproduce {recipe.name}`, then `reprokit golden promote {recipe.name} --reason …`"
        raise GoldenError("there is no golden to propose tolerances for", where=str(place), fix=fix)
    blessed = golden.load(place)
    if not adapters.compare(blessed.metrics, again / METRICS).identical:
        raise CannotJudgeError(
            "the recipe does not give its golden's numbers here, so twins would say nothing of it",
            where=str(place),
            fix=f"`reprokit verify {recipe.name} --rounding` says why",
        )
    return blessed


def bound_of(
    metric: str, values: Sequence[float], others: Sequence[Sequence[float]], *, mean_of: int
) -> Bound:
    """The bound of one metric, from the twins' values, the last of which are the control's."""
    none = Bound(metric=metric, mean_of=mean_of, rtol=None)
    if any(len(one) != len(values) for one in others):
        return replace(none, why="twins have another number of values")
    if not all(map(math.isfinite, (*values, *(value for one in others for value in one)))):
        return replace(none, why="some values are no finite numbers")
    *apart, control = [_apart(values, one, mean_of=mean_of) for one in others]
    if not all(map(math.isfinite, apart)):
        return replace(none, why="it is zero somewhere, where no relative tolerance is of use")
    wrong = sum(
        one > _rtol(other for at, other in enumerate(apart) if at != left) for left, one in enumerate(apart)
    )
    rtol = _rtol(apart)
    return replace(
        none,
        rtol=rtol,
        false_alarms=wrong,
        at_most=at_most(wrong, len(apart)),
        sees_control=control > rtol,
    )


def proposed_of(bounds: Sequence[Bound]) -> dict[str, dict[str, float | int]]:
    """For each metric the fewest values to a mean at which the control is still seen; nothing without one."""
    found: dict[str, dict[str, float | int]] = {}
    for one in bounds:
        if one.sees_control and one.rtol is not None and one.metric not in found:
            found[one.metric] = {"rtol": one.rtol, **({"mean_of": one.mean_of} if one.mean_of > 1 else {})}
    return found


def at_most(wrong: int, of: int, *, level: float = 0.05) -> float:
    """The largest share of which so few of so many are not unlikely (Clopper and Pearson, one-sided)."""
    low, high = wrong / of, 1.0
    for _ in range(60):
        share = (low + high) / 2
        chance = sum(math.comb(of, k) * share**k * (1 - share) ** (of - k) for k in range(wrong + 1))
        low, high = (share, high) if chance > level else (low, share)
    return high


def _rtol(apart: Iterable[float]) -> float:
    """Four times the farthest, rounded up to two digits."""
    least = max(FACTOR * max(apart), _LEAST)
    unit = 10.0 ** (math.floor(math.log10(least)) - 1)
    return float(f"{math.ceil(least / unit * (1 - 1e-12)) * unit:.2g}")


def _apart(values: Sequence[float], others: Sequence[float], *, mean_of: int) -> float:
    """The largest relative distance of means of so many consecutive values; the last may be of fewer."""
    farthest = 0.0
    for start in range(0, len(values), mean_of):
        one, other = values[start : start + mean_of], others[start : start + mean_of]
        mean, off = sum(one) / len(one), abs(sum(other) - sum(one)) / len(one)
        farthest = max(farthest, off / abs(mean) if mean else math.inf if off else 0.0)
    return farthest
