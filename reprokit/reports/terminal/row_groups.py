"""Rows and differences that a terminal shows together in one line; none is left out unsaid."""

from __future__ import annotations

from collections.abc import Sequence

from reprokit.core.checklist import Status, Verdict
from reprokit.reports.escaping import Visible
from reprokit.reports.formats.report_content import EnvironmentDifference, Outline, ReportRow

_ENOUGH_TO_GATHER = 3
_UNFINISHED = Visible("a run did not finish")


def that_apply(found: Outline) -> tuple[list[ReportRow], dict[Visible, list[Visible]]]:
    """Rows to show one by one, and reason → ids of the others.

    A required row is always shown, unless a run did not finish: then no row says more than that.
    """
    if found.verdict is Verdict.NOT_RUN:
        unproven = [row.id for row in found.rows if row.status is not Status.PASSED]
        return [], {_UNFINISHED: unproven} if unproven else {}
    together: dict[Visible, list[Visible]] = {}
    for row in found.rows:
        if row.status is Status.SKIPPED and not row.required:
            together.setdefault(row.reason, []).append(row.id)
    together = {reason: ids for reason, ids in together.items() if len(ids) >= _ENOUGH_TO_GATHER}
    away = {name for ids in together.values() for name in ids}
    return [row for row in found.rows if row.id not in away], together


def gathered(reason: Visible, ids: Sequence[Visible]) -> str:
    """One line for the rows that are not shown one by one."""
    if reason == _UNFINISHED:
        return f"{len(ids)} checks were not made: {reason}"
    return f"SKIPPED {len(ids)} rows: {reason}: {', '.join(ids)}"


def that_matter(found: Outline) -> tuple[list[EnvironmentDifference], int, int]:
    """The differences that can change numbers, how many more the outline has cut, and how many cannot.

    The outline has the harmless ones last: it has cut others only where it has none of these.
    """
    mattering = [row for row in found.differences if row.effect != "no"]
    num_harmless = len(found.differences) - len(mattering)
    if num_harmless:
        return mattering, 0, num_harmless + found.num_differences_cut
    return mattering, found.num_differences_cut, 0


def harmless(count: int) -> str:
    """One line for the differences that are not shown."""
    return f"{count} other fields differ from the golden's; none of them can change numbers"
