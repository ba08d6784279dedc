"""Row ``unmodified``: the recipe was run as it stands, without ``--set``.

It knows overrides; it refuses to know what they change. A modified run is never taken for the
recipe's, even where its numbers are equal.

    >>> check(evidence).reason
    'no setting was overridden'
"""

from __future__ import annotations

from reprokit.core.evidence import Evidence, RunEvidence, problems_of_runs
from reprokit.core.rows import Finding, failed, passed, unjudged

ID = "unmodified"
TITLE = "The recipe was run as it stands"
ORDER = 50
ADVISORY = False
NEEDS_RECIPE = True


def check(evidence: Evidence) -> Finding:
    """Neither the request nor any run's record names an override."""
    remedy = "run it again without --set, or write the setting into a recipe of its own"
    overrides = sorted(
        {*evidence.modified, *(item for run in evidence.runs for item in _overrides(run) or ())}
    )
    if overrides:
        return failed(
            f"run with other settings than the recipe's: {', '.join(overrides)}", remedy, modified=overrides
        )
    silent = problems_of_runs(
        evidence, lambda run: "run.json does not say" if _overrides(run) is None else ""
    )
    if silent:
        return unjudged(silent[0], remedy)
    return passed("no setting was overridden")


def _overrides(run: RunEvidence) -> list[str] | None:
    """The overrides that run.json names, or None when it does not say."""
    modified = run.run.get("modified")
    return [str(item) for item in modified] if isinstance(modified, list | tuple) else None
