"""Rows of ``same_under``: what the owner of a recipe says must not matter, a row each.

A row is judged only where it was asked for: the recipe runs once more with what is claimed. Where the claim
says ``as: rounding``, a difference is one only where twins show it to be more than rounding.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from reprokit.core.evidence import Evidence, SameUnderResult
from reprokit.core.verdicts.rows import (
    CheckResult,
    Finding,
    counted,
    failed,
    not_applicable,
    passed,
    unjudged,
)

KEY = "same_under"
PREFIX = f"{KEY}/"
_ASK = "`reprokit verify RECIPE --same-under`"


def claim_of(entry: Mapping[str, Any]) -> str:
    """One entry in words: ``set training.n=4``, ``args --batch 8``, ``threads 4``."""
    if entry.get("set"):
        return f"set {', '.join(map(str, entry['set']))}"
    if entry.get("args"):
        return f"args {entry['args']}"
    return f"threads {entry['threads']}"


def rows(evidence: Evidence) -> Iterator[CheckResult]:
    """A row for each claim of the recipe."""
    recipe = evidence.recipe or {}
    name = str(recipe.get("name"))
    for entry in recipe.get(KEY) or ():
        claim, allowed = claim_of(entry), ", but for rounding," if entry.get("as") else ""
        found = finding(claim, evidence.same_under, first=evidence.runs[0].path if evidence.runs else "")
        yield CheckResult(
            id=f"{PREFIX}{claim}",
            title=f"The result is the same{allowed} under {claim}",
            status=found.status,
            reason=found.reason,
            remedy=found.remedy.replace("RECIPE", name),
            evidence=found.evidence,
            required=found.applies,
        )


def finding(claim: str, seen: Sequence[SameUnderResult] | None, *, first: str) -> Finding:
    """What the runs with a claim say of it; None for runs that no one asked for.

    ``first`` is the folder of the run that they are compared with.
    """
    if seen is None:
        return not_applicable("the recipe says that it does not matter; it was not requested", _ASK)
    made = [one for one in seen if one.claim == claim]
    about: dict[str, Any] = {"claim": claim, "runs": [one.path for one in made]}
    if rounded := {one.path: dict(one.rounding) for one in made if one.rounding is not None}:
        about["rounding"] = rounded
    if not made:
        return unjudged("no run was made with it", f"{_ASK} again", **about)
    for one in made:
        if problem := one.problem or _nothing_compared(one) or _rounding_unknown(one):
            return unjudged(problem, f"look at the run folder, then {_ASK} again", **about)
        if wrong := _difference(one):
            remedy = f"see where it differs: `reprokit diff {first} {one.path}`; correct that, or `{KEY}`"
            return failed(wrong, remedy, **about)
    if told := next((one.rounding["sentence"] for one in made if one.rounding is not None), ""):
        return passed(f"with it {told}", **about)
    records = min(one.records for one in made)
    return passed(f"unchanged: {counted(records, 'record')} in {counted(len(made), 'more run')}", **about)


def _nothing_compared(one: SameUnderResult) -> str:
    ended = not one.failure and not one.difference
    return f"{one.path}: no record could be compared" if ended and one.records <= 0 else ""


def _rounding_unknown(one: SameUnderResult) -> str:
    if one.rounding is None or one.rounding["answer"] in {"rounding", "different"}:
        return ""
    return f"with it the run differs {one.difference}; {one.rounding['sentence']}"


def _difference(one: SameUnderResult) -> str:
    if one.failure:
        return f"with it the run does not finish: {one.failure}"
    if one.rounding is not None:
        return f"with it {one.rounding['sentence']}" if one.rounding["answer"] != "rounding" else ""
    return f"with it the run differs {one.difference}" if one.difference else ""
