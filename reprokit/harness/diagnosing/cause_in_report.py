"""Adds the cause of a difference to a report. It changes no verdict; a failed diagnosis is recorded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from reprokit.core.checklist import Report, Verdict
from reprokit.errors import ReprokitError
from reprokit.harness.diagnosing.diagnose import diagnose_command, diagnose_recipe
from reprokit.recipes import Recipe
from reprokit.request import Request
from reprokit.session import Session


def with_cause(
    report: Report, *, recipe: Recipe | None, command: Sequence[str], request: Request, session: Session
) -> Report:
    """The report with ``cause``, where its runs differ and it was asked for."""
    if not request.diagnose:
        return report
    if report.verdict is not Verdict.NONDETERMINISTIC:
        session.progress.note("nothing to diagnose: the runs do not differ")
        return report
    asked = replace(request, seed=report.seed)
    try:
        with session.phase("diagnose"):
            if recipe is not None:
                found = diagnose_recipe(recipe.name, asked, session=session)
            else:
                found = diagnose_command(command, asked, session=session)
    except ReprokitError as error:
        session.progress.note(f"no cause was looked for: {error}")
        return replace(report, cause={"problem": str(error)})
    return replace(report, cause=found.as_data())
