"""When an ensemble decides in place of bit equality and tolerance, and what then follows.

It is asked last: runs that equal their golden, or are within its tolerance, are not its business. What it
says stands in place of the rows ``equals_golden``, ``environment_compatible``, and of ``repeatable`` and
``trace_equal`` where runs cannot repeat; every other row counts as ever.
"""

from __future__ import annotations

from collections.abc import Mapping

from reprokit.core.evidence import EnsembleEvidence, Evidence
from reprokit.core.verdicts.agreement import differing, differing_trace, why_not_repeated, why_not_two_runs

EQUIVALENT, REGRESSION, UNJUDGED = "EQUIVALENT", "REGRESSION", "UNJUDGED"


def may_decide(evidence: Evidence) -> bool:
    """Whether two finished runs are left undecided by equality and tolerance.

    They have no golden, or differ from it; or they differ from each other where the recipe says so.
    """
    golden = evidence.golden
    if evidence.recipe is None or evidence.reference_run is not None or why_not_two_runs(evidence):
        return False
    if golden is not None and golden.is_foreign:
        return False
    if _differ(evidence):
        return bool(why_not_repeatable(evidence))
    if why_not_repeated(evidence) is not None:
        return False
    return golden is None or (golden.comparison.comparable and not golden.comparison.within_tolerance)


def why_not_repeatable(evidence: Evidence) -> str:
    """Why two runs cannot be equal on this platform, as the recipe says; "" where it does not say so."""
    declared = (evidence.recipe or {}).get("repeatable")
    return str(declared.get(evidence.platform) or "").strip() if isinstance(declared, Mapping) else ""


def excuses_difference(evidence: Evidence) -> bool:
    """Whether the runs differ from each other, and it is left to the ensemble what that means."""
    return _differ(evidence) and may_decide(evidence)


def answer(evidence: Evidence) -> tuple[str, str] | None:
    """Verdict and reason where the ensemble, or the lack of one, decides against the runs; else None."""
    if not may_decide(evidence) or is_member_again(evidence) or is_equivalent(evidence):
        return None
    ensemble = evidence.ensemble
    if ensemble is None or ensemble.missing:  # the golden, or the lack of one, decides then
        return _without_ensemble(evidence) if excuses_difference(evidence) else None
    if ensemble.not_run:
        return "NOT_RUN", ensemble.not_run
    if not ensemble.problem and ensemble.conclusion == REGRESSION:
        return REGRESSION, ensemble.reason
    return UNJUDGED, ensemble.problem or ensemble.reason or "the ensemble has judged nothing"


def is_equivalent(evidence: Evidence) -> bool:
    """Whether the ensemble found no difference, and would have found a drop of the margin."""
    ensemble = evidence.ensemble
    if ensemble is None or not may_decide(evidence) or _is_silent(ensemble):
        return False
    return ensemble.conclusion == EQUIVALENT and bool(ensemble.runs) and ensemble.gate is not None


def is_member_again(evidence: Evidence) -> bool:
    """Whether runs without a golden equal each other and the ensemble's run of their seed, byte for byte."""
    ensemble = evidence.ensemble
    if ensemble is None or evidence.golden is not None or _differ(evidence) or _is_silent(ensemble):
        return False
    return ensemble.is_member and may_decide(evidence)


def _is_silent(ensemble: EnsembleEvidence) -> bool:
    return bool(ensemble.missing or ensemble.not_run or ensemble.problem)


def _differ(evidence: Evidence) -> bool:
    return differing(evidence) is not None or differing_trace(evidence) is not None


def _without_ensemble(evidence: Evidence) -> tuple[str, str]:
    if evidence.ensemble is not None:
        return "NO_GOLDEN", evidence.ensemble.missing
    differ = f"two runs with one seed differ, as the recipe says of {evidence.platform}"
    only = "so only an ensemble can judge them: `reprokit verify --statistical`"
    return UNJUDGED, f"{differ} ({why_not_repeatable(evidence)}), {only}"


def stats_options(ensemble: EnsembleEvidence) -> str:
    """Options of ``stats`` that choose the new seeds, and not whatever was run last; each after a blank."""
    same = f" --same-inputs-as {ensemble.runs[0].rpartition('/')[2]}" if ensemble.runs else ""
    seeds = sorted(map(int, (ensemble.gate or {}).get("new") or {}))
    if not seeds:
        return same
    if len(seeds) > 1 and seeds == list(range(seeds[0], seeds[-1] + 1)):
        return f"{same} --seeds {seeds[0]}..{seeds[-1]}"
    return f"{same} --seeds {','.join(map(str, seeds))}{',' if len(seeds) == 1 else ''}"
