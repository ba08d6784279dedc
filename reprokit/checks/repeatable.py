"""Row ``repeatable``: the runs with one seed are equal in every record, at 0/0.

It knows comparisons of runs; it refuses to know goldens and tolerances.

    >>> check(evidence).reason
    '2 runs agree in 49 records of 12 metrics, bit for bit'
"""

from __future__ import annotations

from reprokit.core.agreement import difference, differing, not_repeated
from reprokit.core.evidence import Evidence
from reprokit.core.rows import Finding, failed, passed, unjudged

ID = "repeatable"
TITLE = "Two runs with one seed are equal, bit for bit"
ORDER = 10
ADVISORY = False
NEEDS_RECIPE = False


def check(evidence: Evidence) -> Finding:
    """Every later run is equal to the first."""
    found = differing(evidence)
    if found is not None:
        first, (other, comparison) = evidence.runs[0], found
        remedy = f"see where they part: `reprokit diff {first.path} {other.path}`"
        return failed(f"{other.path} differs from the first run {difference(comparison)}", remedy)
    because = _insufficient(evidence)
    if because:
        return unjudged(because, "run it twice to the end: `reprokit reproduce`")
    records, metrics = evidence.repeats[0].records_compared, evidence.repeats[0].metrics_compared
    reason = f"{len(evidence.runs)} runs agree in {records} records of {metrics} metrics, bit for bit"
    return passed(reason, records=records, metrics=metrics)


def _insufficient(evidence: Evidence) -> str:
    if any(not run.complete for run in evidence.runs):
        return "a run did not finish, so its numbers prove nothing"
    return not_repeated(evidence)
