"""What runs prove that were stopped because they differ from the golden: that difference, or nothing."""

from __future__ import annotations

from reprokit.core.evidence import Evidence, GoldenEvidence
from reprokit.core.verdicts.agreement import why_not_equal, why_not_two_beginnings
from reprokit.core.verdicts.comparability import Objection


def why_not_different(evidence: Evidence) -> Objection | None:
    """Why it is not proven that all runs agree and differ from the golden where they were stopped."""
    objection = why_not_two_beginnings(evidence)
    if objection is None and len(evidence.repeats) != len(evidence.runs) - 1:
        objection = Objection(f"{len(evidence.runs)} runs were compared {len(evidence.repeats)} times")
    for comparison in evidence.repeats:
        objection = objection or why_not_equal(comparison, records=None)
    return objection or _without_difference(evidence, evidence.golden)


def _without_difference(evidence: Evidence, golden: GoldenEvidence | None) -> Objection | None:
    if golden is None:
        because = evidence.golden_missing_because or "there is none"
        return Objection(f"the runs were stopped at a golden: {because}")
    if golden.is_foreign or evidence.reference_run is not None:
        return Objection(f"the runs were stopped early, but not at {golden.noun}")
    if not golden.comparison.comparable:
        return Objection(
            f"what the runs wrote before they were stopped cannot be compared with {golden.noun}"
        )
    if golden.comparison.within_tolerance:
        stopped = f"according to run.json the runs were stopped where they differ from {golden.noun}"
        return Objection(f"{stopped}, but they do not differ")
    return None
