"""What a report adds to STALE_GOLDEN on request: whether the environment moved the numbers as rounding does.

No verdict depends on it. The feature ``compare`` judges it; here it is asked for, kept and asked again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from reprokit.core.checklist import Report, Verdict
from reprokit.errors import CannotJudgeError
from reprokit.feature import offered
from reprokit.harness.judging.build_report import evidence_digests
from reprokit.harness.judging.rounding_of_pair import twin_folders
from reprokit.recipes import Recipe
from reprokit.request import Request
from reprokit.session import Session

#: What of the evidence a golden's provenance keeps: no paths of this machine.
_NOT_KEPT = frozenset({"runs", "centre", "why_today"})


def with_rounding(report: Report, recipe: Recipe | None, request: Request, *, session: Session) -> Report:
    """The report with ``rounding``, where it was asked for and its golden is stale."""
    if not request.rounding:
        return report
    judge = offered("rounding_of_golden")
    if recipe is None or judge is None or report.verdict is not Verdict.STALE_GOLDEN:
        session.progress.note("nothing to judge by rounding: no environment moved the numbers of a golden")
        return report
    with session.phase("rounding"):
        found = replace(report, rounding=judge(report, recipe, request, session=session))
    digests = evidence_digests(runs_of_rounding(found), None)
    return replace(found, evidence_digests={**report.evidence_digests, **digests})


def rounding_again(report: Report) -> Mapping[str, Any] | None:
    """What the runs that a report names say of rounding now; None where no one asked.

    Raises:
        CannotJudgeError: Nothing that is installed here judges it.
    """
    if report.rounding is None:
        return None
    judge = offered("rounding_again")
    if judge is None:
        raise CannotJudgeError("nothing that is installed here judges rounding")
    found: Mapping[str, Any] = judge(report)
    return found


def runs_of_rounding(report: Report) -> tuple[Path, ...]:
    """The runs that the answer on rounding follows from, beside the report's own."""
    told = report.rounding or {}
    centre = told.get("centre")
    return (*twin_folders(told), *([Path(str(centre))] if centre and centre not in report.runs else []))


def kept_in_provenance(rounding: Mapping[str, Any]) -> dict[str, Any]:
    """The evidence as a golden that is promoted for it has it."""
    made: Mapping[str, Any] = rounding.get("runs") or {}
    found = {name: value for name, value in rounding.items() if name not in _NOT_KEPT}
    return {**found, "num_twins": len(made.get("twins", ())) + len(made.get("short", ()))}
