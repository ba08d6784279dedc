"""Row ``config_saved``: config.yaml is saved with the results and holds what the recipe says."""

from __future__ import annotations

from reprokit.core.evidence import Evidence, RunEvidence
from reprokit.core.verdicts.rows import Finding, failed_runs, passed, unjudged
from reprokit.layout import CONFIG

ID = "config_saved"
TITLE = "The training configuration is saved with the results"
ORDER = 120
ADVISORY = False
NEEDS_RECIPE = True
NEEDS_TRAINER = True

_AGAIN = "run it again; config.yaml is written before training starts"


def check(evidence: Evidence) -> Finding:
    """Every run folder holds the configuration, and it is the recipe's."""
    if broken := failed_runs(evidence, _problem, _AGAIN):
        return broken
    if any(run.config_differs is None for run in evidence.runs):
        return unjudged(
            "config.yaml was never compared with the recipe", "judge it again: `reprokit report show`"
        )
    sections = sorted(str(name) for name in evidence.runs[0].config or ())
    return passed(
        f"config.yaml holds all {len(sections)} sections of the recipe in every run", sections=sections
    )


def _problem(run: RunEvidence) -> str:
    if not run.config or run.files.get(CONFIG, 0) <= 0:
        return "config.yaml is missing or empty"
    if run.config_differs:
        return f"config.yaml differs from the recipe: {', '.join(run.config_differs)}"
    return ""
