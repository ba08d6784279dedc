"""What a search for a change asks: do numbers differ from the good end's by rounding alone?

The good end is run once more, then its twins and the control; each of the other ends is then judged from its
metrics. Nothing is called rounding that the rule does not show to be.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from reprokit import adapters, runs
from reprokit.core import comparison
from reprokit.errors import CannotJudgeError
from reprokit.features.compare.ready_side import side_of_commit
from reprokit.features.compare.rounding.evidence import must_be_twins, rounding_evidence, updates_of
from reprokit.features.compare.rounding.rule import Finding
from reprokit.features.compare.rounding.twin_runs import ALL, MakeRun, TwinRuns, whole_twins
from reprokit.features.compare.seals import Seals
from reprokit.features.compare.side_runs import one_more_run
from reprokit.harness.running.run_kinds import VariedRun, WholeRun
from reprokit.harness.running.start_runs import run_recipe
from reprokit.layout import METRICS
from reprokit.recipes import Recipe
from reprokit.request import Request
from reprokit.session import Session

#: Metrics → why they differ by more than rounding, or may; "" where they differ by rounding alone.
Judge = Callable[[Path], str]
_SIDES = ("the good end", "this one")


def rounding_from_commit(
    name: str, commit: str, reference: Path, request: Request, *, session: Session
) -> Judge:
    """A judge by twins of a recipe at a commit, in a work tree of its own.

    Args:
        name: The recipe.
        commit: The good one.
        reference: Its metrics.
        request: How it runs.
        session: A project whose folder of runs takes those of this.

    Raises:
        ReprokitError: Its numbers are not had again, or nothing can be rounded.
    """
    seals = Seals()
    with side_of_commit(name, commit, request, session=session) as ready:
        centre = one_more_run(ready, WholeRun(), seals=seals)

        def make(variation: Any, number: int) -> Path:
            return one_more_run(ready, VariedRun(number=number, chosen=(variation,)), seals=seals)

        return _judge(centre, reference, make)


def rounding_from_here(recipe: Recipe, reference: Path, request: Request, *, session: Session) -> Judge:
    """The same of the session's own project, as its environment is now."""
    asked = replace(request, repeats=1)
    (centre,) = run_recipe(recipe, asked, WholeRun(), session=session)

    def make(variation: Any, number: int) -> Path:
        kind = VariedRun(number=number, chosen=(variation,))
        return run_recipe(recipe, asked, kind, session=session)[0]

    return _judge(centre, reference, make)


def _judge(centre: Path, reference: Path, make: MakeRun) -> Judge:
    run = runs.read(centre)
    if not run.complete:
        raise CannotJudgeError(
            f"the good end does not run again: {run.record.message or run.incomplete_because}"
        )
    if not adapters.compare(reference, centre / METRICS).identical:
        raise CannotJudgeError(
            "the good end does not give its numbers again, so twins would say nothing of it"
        )
    twins = whole_twins(make, ALL, updates_of=updates_of)
    must_be_twins(centre, twins)
    return lambda metrics: _why_not(centre, metrics, twins)


def _why_not(centre: Path, metrics: Path, twins: TwinRuns) -> str:
    found = comparison.to_json(adapters.compare(centre / METRICS, metrics))
    told = rounding_evidence(centre, metrics, twins, found["per_metric"], sides=_SIDES)
    if told["answer"] == Finding.DIFFERENT:
        return f"{told['ratio']:.3g} times what rounding does"
    return "" if told["answer"] == Finding.ROUNDING else f"perhaps rounding: {told['why']}"
