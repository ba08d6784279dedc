"""``verify --rounding``: is what a new environment moves away from the golden what rounding does?

Twins are of the golden's side, where its commit and its lock give its numbers again here; else of today's,
which the answer says. Changed code in a changed environment is never rounding.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from reprokit import adapters, golden, runs
from reprokit.capture import git_history
from reprokit.core import inputs
from reprokit.core.checklist import Report
from reprokit.errors import CannotJudgeError, ReprokitError
from reprokit.features.compare.ready_side import side_of_commit
from reprokit.features.compare.rounding.evidence import (
    BOTH_CHANGED,
    first_place,
    rounding_evidence,
)
from reprokit.features.compare.rounding.made_twins import NO_METRIC
from reprokit.features.compare.rounding.of_pair import metrics_of, needed_twins
from reprokit.features.compare.rounding.rule import Finding
from reprokit.features.compare.rounding.sentences import extent, more_runs, times, twins_told
from reprokit.features.compare.rounding.twin_runs import MakeRun, TwinRuns
from reprokit.features.compare.seals import Seals
from reprokit.features.compare.side_runs import one_more_run
from reprokit.harness.running.run_kinds import VariedRun, WholeRun
from reprokit.harness.running.start_runs import run_recipe
from reprokit.layout import METRICS
from reprokit.recipes import NO_VARIANT, Recipe
from reprokit.request import Request
from reprokit.session import Session

GOLDEN, TODAY = "golden", "today"
_SIDES = {GOLDEN: ("the golden", "today's run"), TODAY: ("today's run", "the golden")}
#: The inputs that are the environment; all others are code.
_ENVIRONMENT = frozenset({"lock"})


def rounding_of_golden(
    report: Report, recipe: Recipe, request: Request, *, session: Session
) -> dict[str, Any]:
    """What twins say of a report whose runs differ from a golden of another environment."""
    blessed, today = _both(report)
    names = tuple(metrics_of(blessed, today))
    why, found = "", None
    if _code_changed(blessed, today):
        return _unmade(BOTH_CHANGED)
    place = first_place(blessed, today, names)
    if place is None:
        return _unmade(NO_METRIC)
    asked = replace(request, repeats=1, side_by_side=False)
    try:
        with _golden_again(blessed, today, recipe, asked, session=session) as (again, make):
            found = needed_twins(make, centre=again, other=today, place=place, names=names)
            runs_of = {"twins_of": GOLDEN, "centre": str(again), "why_today": ""}
    except ReprokitError as error:
        runs_of = {"twins_of": TODAY, "centre": str(today), "why_today": error.told()}
    if found is None:
        make = _makes_today(recipe, asked, session=session)
        try:
            found = needed_twins(make, centre=today, other=blessed, place=place, names=names)
        except ReprokitError as error:
            why = error.told()
    told = {**runs_of, "why": why, "runs": found.as_data() if found else None}
    return _judged(report, told)


def rounding_again(report: Report) -> dict[str, Any]:
    """The same from the runs that the report names: nothing is run."""
    told = report.rounding or {}
    blessed, today = _both(report)
    if _code_changed(blessed, today):
        return _unmade(BOTH_CHANGED)
    if first_place(blessed, today, tuple(metrics_of(blessed, today))) is None:
        return _unmade(NO_METRIC)
    return _judged(report, told)


def _judged(report: Report, told: Mapping[str, Any]) -> dict[str, Any]:
    """The answer on the runs that were made, of a new report or of one that is checked."""
    blessed, today = _both(report)
    runs_of = {name: told[name] for name in ("twins_of", "centre", "why_today")}
    if not told["runs"]:
        return {**_unmade(str(told["why"])), **runs_of}
    centre, other = Path(str(told["centre"])), today
    if told["twins_of"] == TODAY:
        centre, other = today, blessed
    twins = TwinRuns.from_data(told["runs"])
    try:
        _must_be_golden(centre, blessed, today)
        evidence = rounding_evidence(
            centre, other, twins, metrics_of(blessed, today), sides=_SIDES[told["twins_of"]]
        )
    except ReprokitError as error:
        return {**_unmade(error.told()), **runs_of, "runs": told["runs"]}
    return {**evidence, **runs_of, "sentence": _sentence(evidence, runs_of)}


def _unmade(why: str) -> dict[str, Any]:
    finding = Finding.DIFFERENT if why in {BOTH_CHANGED, NO_METRIC} else Finding.UNJUDGED
    sentence = f"Not rounding: {why}."
    if finding is Finding.UNJUDGED:
        sentence = f"Whether that is rounding is not known: {why.rstrip('.')}."
    return {"answer": str(finding), "why": why, "runs": None, "sentence": sentence}


def _sentence(evidence: Mapping[str, Any], runs_of: Mapping[str, str]) -> str:
    made = more_runs(evidence)
    twins = f"{twins_told(evidence)} of {_SIDES[runs_of['twins_of']][0]}"
    if evidence["answer"] == "rounding":
        told = (
            f"The environment moves the numbers as rounding does: by at most {evidence['ratio']:.2g} times "
            f"as much as {twins} ({made}), in {extent(evidence)}; a learning rate higher by "
            f"{evidence['resolution']:.1g} of itself would have been seen."
        )
    elif evidence["answer"] == "different":
        first = evidence["first"]
        told = (
            f"The environment moves the numbers by more than rounding: {first['metric']} from step "
            f"{first['step']:g} on, up to {times(evidence['ratio'])} times what {twins} show ({made})."
        )
    else:
        told = f"Whether that is rounding is not known: {evidence['why']}."
    if runs_of["why_today"]:
        told += f" Twins are of today's side: {runs_of['why_today']}."
    return told


def _both(report: Report) -> tuple[Path, Path]:
    return Path(str(report.golden)), Path(report.runs[0])


def _code_changed(blessed: Path, today: Path) -> bool:
    return bool(set(inputs.changed(*_digests(blessed, today))) - _ENVIRONMENT)


def _digests(blessed: Path, today: Path) -> tuple[Mapping[str, str], Mapping[str, str]]:
    return golden.load(blessed).provenance.digests, runs.read(today, verify=False).record.digests


def _must_be_golden(centre: Path, blessed: Path, today: Path) -> None:
    """Twins stand for the side whose numbers their untouched run has.

    Raises:
        CannotJudgeError: It is neither today's run nor one with the golden's numbers.
    """
    if centre.resolve() != today.resolve():
        _must_have_its_numbers(centre, blessed)


def _must_have_its_numbers(folder: Path, blessed: Path) -> None:
    run = runs.read(folder)
    if not run.complete:
        raise CannotJudgeError(
            f"the golden's environment cannot be made again: {run.record.message or run.incomplete_because}"
        )
    if not adapters.compare(blessed / METRICS, folder / METRICS).identical:
        raise CannotJudgeError("the golden's commit and lock do not give its numbers here")


def _makes_today(recipe: Recipe, request: Request, *, session: Session) -> MakeRun:
    def make(variation: Any, number: int) -> Path:
        kind = VariedRun(number=number, chosen=(variation,))
        return run_recipe(recipe, request, kind, session=session)[0]

    return make


@contextmanager
def _golden_again(
    blessed: Path, today: Path, recipe: Recipe, request: Request, *, session: Session
) -> Iterator[tuple[Path, MakeRun]]:
    """A run of the golden's commit with its lock that has its numbers, and what makes its twins.

    Raises:
        ReprokitError: There is no such run here, and why.
    """
    if recipe.variant == NO_VARIANT:
        raise CannotJudgeError("nothing pins the golden's environment, so it cannot be made again")
    then, now = _digests(blessed, today)
    if then.get("lock") == now.get("lock"):
        raise CannotJudgeError("the golden's lock is today's, so its environment cannot be made again")
    commit = git_history.last_commit(blessed)
    seals = Seals()
    with side_of_commit(recipe.name, commit, request, session=session) as ready:
        again = one_more_run(ready, WholeRun(), seals=seals)
        _must_have_its_numbers(again, blessed)

        def make(variation: Any, number: int) -> Path:
            return one_more_run(ready, VariedRun(number=number, chosen=(variation,)), seals=seals)

        yield again, make
