"""Row ``unmodified``: the recipe was run as it stands, without ``--set``.

A modified run is never taken for the recipe's, even where its metrics are equal. Runs that repeat
another run must have exactly the overrides that it had.
"""

from __future__ import annotations

from reprokit.core.evidence import Evidence, RunEvidence, problems_of_runs
from reprokit.core.verdicts.rows import Finding, failed, passed, unjudged

ID = "unmodified"
TITLE = "The recipe was run as it stands"
ORDER = 50
ADVISORY = False
NEEDS_RECIPE = True


def check(evidence: Evidence) -> Finding:
    """Neither the request nor any run's record names an override that is not to be repeated."""
    repeated = evidence.reference_run
    wanted = list(repeated.overrides) if repeated is not None else []
    remedy = "run it again without --set, or write the setting into a recipe of its own"
    recorded = [overrides for run in evidence.runs if (overrides := _overrides(run)) is not None]
    if evidence.modified or any(overrides != wanted for overrides in recorded):
        modified = sorted({*evidence.modified, *(item for overrides in recorded for item in overrides)})
        named = ", ".join(modified) or "none"
        if repeated is not None and wanted:
            why = f"run with other overrides than {repeated.noun}: {named}, not {', '.join(wanted)}"
            return failed(why, f"run it again: `reprokit runs reproduce {repeated.path}`", modified=modified)
        why = f"run with other settings than the recipe's: {named}"
        return failed(why, remedy, modified=modified)
    silent = problems_of_runs(
        evidence, lambda run: "run.json does not say" if _overrides(run) is None else ""
    )
    if silent:
        return unjudged(silent[0], remedy)
    if repeated is not None and wanted:
        return passed(f"with the overrides of {repeated.noun}: --set {' --set '.join(wanted)}")
    return passed("no setting was overridden")


def _overrides(run: RunEvidence) -> list[str] | None:
    """The overrides that run.json names, or None when it does not say."""
    return None if run.run.modified is None else list(run.run.modified)
