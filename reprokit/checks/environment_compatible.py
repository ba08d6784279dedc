"""Row ``environment_compatible``: what can change numbers is as it was when the golden was made.

Another environment with equal numbers is compatible; the row says what differs.
"""

from __future__ import annotations

from reprokit.core import fingerprint
from reprokit.core.evidence import EnsembleEvidence, Evidence, GoldenEvidence
from reprokit.core.verdicts.agreement import why_not_golden
from reprokit.core.verdicts.ensemble_tier import is_member_again, may_decide
from reprokit.core.verdicts.rows import Finding, failed, not_applicable, passed, skipped, unjudged

ID = "environment_compatible"
TITLE = "The environment computes as the golden's did"
ORDER = 110
ADVISORY = False
NEEDS_RECIPE = True

_FIRST = "promote two runs that agree: see the row `equals_golden`"
_SHOWN = 5
NAME_THE_PYTHON = "let the command begin with the Python that it runs: `command: [python, train.py]`"


def check(evidence: Evidence) -> Finding:
    """Equal fingerprints, or other ones that came to the same numbers."""
    golden = evidence.golden
    ensemble = evidence.ensemble
    if ensemble is not None and may_decide(evidence) and (ensemble.gate or is_member_again(evidence)):
        return _as_of_ensemble(evidence, ensemble)
    if golden is None:
        return skipped("there is no golden to compare with", _FIRST)
    if golden.is_foreign:
        return not_applicable(
            "a foreign log says nothing about the environment it was made in", _again(evidence)
        )
    if not evidence.runs or not all(run.environment for run in evidence.runs):
        return unjudged("a run has no environment record to compare", "run it again: `reprokit reproduce`")
    return _against(evidence, golden)


def _as_of_ensemble(evidence: Evidence, ensemble: EnsembleEvidence) -> Finding:
    """The environment of the ensemble, where that decided: it judges the numbers of any other one too."""
    unknown = fingerprint.why_unknown(*(run.environment for run in evidence.runs))
    if unknown:
        return not_applicable(f"{unknown}; new seeds were compared with {ensemble.path}", NAME_THE_PYTHON)
    if ensemble.fingerprint_equal:
        return passed(f"the numerics fingerprint equals that of {ensemble.path}")
    differs = f"the environment computes differently from that of {ensemble.path}"
    if is_member_again(evidence):
        return passed(f"{differs}; the metrics equal those of its seed nevertheless")
    return not_applicable(f"{differs}, and new seeds were compared with it instead", _again(evidence))


def _against(evidence: Evidence, golden: GoldenEvidence) -> Finding:
    recorded = golden.provenance.fingerprint
    if not recorded.startswith("sha256:"):
        return unjudged(f"{golden.path} holds no numerics fingerprint", _again(evidence))
    differs = _can_change_numbers(golden)
    if golden.environment_unknown:
        return _unknown(evidence, golden)
    if not golden.fingerprint_equal:
        return _elsewhere(evidence, golden, differs)
    if differs:
        return unjudged(f"the fingerprints agree, but the records differ in {differs[0]}", _again(evidence))
    return passed(f"the numerics fingerprint equals that of {golden.noun}", fingerprint=recorded)


def _unknown(evidence: Evidence, golden: GoldenEvidence) -> Finding:
    """What equal fingerprints do not say, where one is of a program whose Python is not known."""
    if why_not_golden(evidence) is None:
        return passed(f"{golden.environment_unknown}; the metrics equal those of {golden.noun} nevertheless")
    return unjudged(golden.environment_unknown, NAME_THE_PYTHON)


def _elsewhere(evidence: Evidence, golden: GoldenEvidence, differs: list[str]) -> Finding:
    """What another environment came to: the same numbers, or not."""
    named = ", ".join(differs[:_SHOWN]) + (f" and {len(differs) - _SHOWN} more" if differs[_SHOWN:] else "")
    what = f"the environment differs in {named or 'something that is not recorded'}"
    objection = why_not_golden(evidence)
    if objection is None:
        return passed(f"{what}; the metrics equal those of {golden.noun} nevertheless", differs=differs)
    if golden.comparison.comparable and not golden.comparison.within_tolerance:
        remedy = f"see all of it: `reprokit env diff {golden.path} {evidence.runs[0].path}`"
        return failed(f"{what}, and so do the metrics", remedy, differs=differs)
    remedy = f"see both: `reprokit diff {golden.path} {evidence.runs[0].path}`"
    return unjudged(f"{what}; {objection.reason}", remedy)


def _again(evidence: Evidence) -> str:
    name = (evidence.recipe or {}).get("name")
    return (
        f"promote two runs that agree: `reprokit golden promote {name} --reason 'a golden of this project'`"
    )


def _can_change_numbers(golden: GoldenEvidence) -> list[str]:
    return [
        str(entry.get("field"))
        for entry in golden.environment_diff
        if entry.get("can_change_numbers") != "no"
    ]
