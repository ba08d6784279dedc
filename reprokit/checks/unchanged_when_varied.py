"""Row ``unchanged_when_varied``: the result does not depend on the conditions that the recipe names.

A variation that could not be made is ERROR, never a pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reprokit.core.evidence import Evidence, VariedEvidence, VariedResult
from reprokit.core.verdicts.comparability import Objection
from reprokit.core.verdicts.rows import Finding, counted, failed, not_applicable, passed, unjudged

ID = "unchanged_when_varied"
TITLE = "The result is unchanged under the variations that the recipe names"
ORDER = 250
ADVISORY = False
NEEDS_RECIPE = True
DECLARED_BY = "immune_to"
ASKED_BY = "varied"

_ASK = "`reprokit verify RECIPE --vary`"
_CAUSE = "find the line: `reprokit diagnose RECIPE`"


def check(evidence: Evidence) -> Finding:
    """Every stated variation is in a run that is equal to the first, and in none that alone is not."""
    stated = _stated(evidence)
    seen = evidence.varied
    if not stated:
        return not_applicable("the recipe names no variation that it is immune to", "add `immune_to` to it")
    if seen is None:
        return not_applicable(
            f"the recipe names {counted(len(stated), 'variation')}; they were not requested", _ASK
        )
    about = {"runs": [run.path for run in seen.runs], "stated": list(stated)}
    objection = _hole(seen)
    if objection is not None:
        return unjudged(objection.reason, f"look at the run folders, then {_ASK} again", **about)
    guilty = list(_minimal(seen))
    if guilty:
        sets = [list(run.names) for run in guilty]
        reason = "; ".join(_sentence(run, seen) for run in guilty)
        return failed(reason, _CAUSE, **about, guilty=sets)
    known = {name for run in seen.runs if run.is_equal for name in run.names} | set(seen.held)
    unknown = [name for name in stated if name not in known]
    if unknown:
        why = "; ".join(
            f"{name} was not varied: {seen.unmade.get(name, 'no run varied it')}" for name in unknown
        )
        return unjudged(
            why, "run it where it can be varied, or remove it from `immune_to`", **about, unknown=unknown
        )
    return passed(_unchanged(seen, stated), **about)


def _stated(evidence: Evidence) -> tuple[str, ...]:
    named = (evidence.recipe or {}).get("immune_to")
    return tuple(map(str, named)) if isinstance(named, list | tuple) else ()


def _hole(seen: VariedEvidence) -> Objection | None:
    """What makes the runs say nothing of a variation."""
    problem = next((run.problem for run in seen.runs if run.problem), None)
    if problem is not None:
        return Objection(problem)
    for run in seen.runs:
        if not run.names and not run.is_equal and run.watched:
            return Objection(f"{run.path}: with instrumentation alone and nothing varied, the metrics differ")
        if not run.failure and not run.difference and run.records <= 0:
            return Objection(f"{run.path}: no record could be compared")
    return None


def _minimal(seen: VariedEvidence) -> Iterator[VariedResult]:
    """Of the runs that are not equal, those with a least set of variations, each set once."""
    wrong = [run for run in seen.runs if not run.is_equal]
    found: list[set[str]] = []
    for run in sorted(wrong, key=lambda run: len(run.names)):
        names = set(run.names)
        if not any(smaller <= names for smaller in found):
            found.append(names)
            yield run


def _sentence(run: VariedResult, seen: VariedEvidence) -> str:
    luck = any(other.is_equal and other.names == run.names for other in seen.runs)
    often = " sometimes" if luck else ""
    what = f"with {' and '.join(run.names)} varied" if run.names else "with nothing varied"
    if run.failure:
        return f"{what} the run does not finish{often}: {run.failure}"
    return f"{what} the run differs{often} {run.difference}"


def _unchanged(seen: VariedEvidence, stated: Sequence[str]) -> str:
    varied = [name for name in stated if name not in seen.held]
    held = "".join(f"; {name}: {seen.held[name]}" for name in stated if name in seen.held)
    if not varied:
        return f"there is nothing to vary{held}"
    records = min(run.records for run in seen.runs)
    more = counted(len(seen.runs), "more run")
    together = ", all at once" if len(varied) > 1 and len(seen.runs) == 1 else ""
    return f"unchanged under {', '.join(varied)}{together}: {counted(records, 'record')} in {more}{held}"
