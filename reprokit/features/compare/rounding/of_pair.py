"""``same_under`` with ``as: rounding``: does a run with the claim differ by more than rounding?"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reprokit import adapters
from reprokit.core import comparison
from reprokit.errors import ReprokitError
from reprokit.features.compare.rounding.evidence import (
    first_place,
    judged_with,
    rounding_evidence,
    updates_of,
)
from reprokit.features.compare.rounding.made_twins import NO_METRIC
from reprokit.features.compare.rounding.rule import Finding
from reprokit.features.compare.rounding.sentences import extent, more_runs, times, twins_told
from reprokit.features.compare.rounding.twin_runs import MakeRun, TwinRuns, make_twins
from reprokit.layout import METRICS

_SIDES = ("the first run", "the run with it")


def twins_of_pair(first: Path, other: Path, make: MakeRun) -> dict[str, Any]:
    """Make the twins of the first run that the answer needs, or say why there are none."""
    try:
        names = tuple(metrics_of(first, other))
        place = first_place(first, other, names)
        if place is None:
            return {"runs": None, "why": NO_METRIC}
        made = needed_twins(make, centre=first, other=other, place=place, names=names)
    except ReprokitError as error:
        return {"runs": None, "why": error.told()}
    return {"runs": made.as_data(), "why": ""}


def rounding_of_pair(first: Path, other: Path, told: Mapping[str, Any]) -> dict[str, Any]:
    """What the twins say: ``answer``, ``sentence``, ``why`` and ``runs``. Nothing is run."""
    if not told["runs"]:
        return _unknown(str(told["why"]), runs=None)
    twins = TwinRuns.from_data(told["runs"])
    try:
        found = rounding_evidence(first, other, twins, metrics_of(first, other), sides=_SIDES)
    except ReprokitError as error:
        return _unknown(error.told(), runs=told["runs"])
    if found["answer"] == Finding.UNJUDGED:
        return _unknown(str(found["why"]), runs=told["runs"])
    return {"answer": found["answer"], "sentence": _sentence(found), "why": "", "runs": told["runs"]}


def needed_twins(
    make: MakeRun, *, centre: Path, other: Path, place: tuple[int, int], names: tuple[str, ...]
) -> TwinRuns:
    """The twins of one run that a comparison with another needs.

    Raises:
        CannotJudgeError: Nothing in the program can be rounded from outside.
    """

    def finding_with(twins: TwinRuns) -> tuple[Finding, float]:
        found = judged_with(centre, other, twins, names)
        return found.finding, found.ratio

    return make_twins(make, place=place, updates_of=updates_of, finding_with=finding_with)


def metrics_of(first: Path, other: Path) -> dict[str, Any]:
    """All metrics of two folders bit for bit, whatever tolerances grant."""
    found = comparison.to_json(adapters.compare(first / METRICS, other / METRICS))
    metrics: dict[str, Any] = found["per_metric"]
    return metrics


def _unknown(why: str, *, runs: Mapping[str, Any] | None) -> dict[str, Any]:
    sentence = f"whether that is rounding is not known: {why.rstrip('.')}"
    return {"answer": str(Finding.UNJUDGED), "sentence": sentence, "why": why, "runs": runs}


def _sentence(found: Mapping[str, Any]) -> str:
    twins = f"{twins_told(found)} of the first run ({more_runs(found)})"
    if found["answer"] == Finding.ROUNDING:
        return (
            f"the numbers move as rounding does: by at most {found['ratio']:.2g} times as much as {twins}, "
            f"in {extent(found)}; a learning rate higher by {found['resolution']:.1g} of itself would have "
            "been seen"
        )
    first = found["first"]
    return (
        f"the numbers move by more than rounding: {first['metric']} from step {first['step']:g} on, up to "
        f"{times(found['ratio'])} times what {twins} show"
    )
