"""Adds the cause of a difference to a report. It changes no verdict; a failed diagnosis is recorded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from reprokit.core.checklist import Report, Verdict
from reprokit.errors import ReprokitError
from reprokit.harness.diagnosing.diagnose import diagnose_command, diagnose_recipe
from reprokit.harness.running.clock import Phases
from reprokit.project import Project
from reprokit.recipes import Recipe
from reprokit.request import Request


def with_cause(
    report: Report,
    *,
    recipe: Recipe | None,
    command: Sequence[str],
    request: Request,
    project: Project,
    phases: Phases,
) -> Report:
    """The report with ``cause``, where its runs differ and it was asked for."""
    if not request.diagnose:
        return report
    if report.verdict is not Verdict.NONDETERMINISTIC:
        phases.progress.note("nothing to diagnose: the runs do not differ")
        return report
    asked = replace(request, seed=report.seed)
    try:
        with phases.of("diagnose"):
            if recipe is not None:
                found = diagnose_recipe(recipe.name, asked, project=project, progress=phases.progress)
            else:
                found = diagnose_command(command, asked, project=project, progress=phases.progress)
    except ReprokitError as error:
        phases.progress.note(f"no cause was looked for: {error}")
        return replace(report, cause={"problem": str(error)})
    return replace(report, cause=found.as_data())
