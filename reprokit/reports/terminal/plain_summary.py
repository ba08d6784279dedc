"""A report in at most ten plain lines, the answer first: for pipes and CI logs; ``-v`` shows everything."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reprokit.core.checklist import Status, Verdict
from reprokit.reports.escaping import one_line
from reprokit.reports.formats.explanations import GATE_TITLE
from reprokit.reports.formats.report_content import Outline, ReportRow, in_short
from reprokit.reports.pages.cause import cause_facts
from reprokit.reports.terminal.terminal_summary import IN_CAUSE, counts, not_passed, what_changed

#: One less than ten: the place of the report follows.
_MOST_LINES = 9
_MOST_OF_LINE, _MOST_OF_GATE = 600, 4000


def plain_lines(found: Outline) -> list[str]:
    """The verdict, why (first, where there is no golden yet), facts, rows as there is room, what to type."""
    verdict = f"verdict: {found.verdict.value} (exit code {found.exit_code})"
    why = f"why: {found.sentence}"
    above = [
        *((why, verdict) if found.verdict is Verdict.NO_GOLDEN else (verdict, why)),
        f"recipe: {found.recipe} ({found.platform}, seed {found.seed})",
    ]
    typed = (("run again", found.rerun), ("next", found.next_command))
    below = [f"{name}: {command}" for name, command in typed if command]
    room = _MOST_LINES - len(above) - len(below) - 1
    facts = list(_what_happened(found))[:room]
    rows = not_passed(found)
    shown = rows[: room - len(facts)]
    checks = [row_line(row) for row in shown]
    return [*above, *facts, *checks, f"checks: {_counts(found, rows[len(shown) :])}", *below]


def row_line(row: ReportRow) -> str:
    """One row of the checklist."""
    advisory = "" if row.required else " (advisory)"
    return f"check: {row.status.value} {row.id}{advisory}: {row.title}: {row.reason}"


def _what_happened(found: Outline) -> Iterator[str]:
    """The facts that a verdict stands on, a line for each kind of them."""
    if found.not_run:
        yield _joined("not run", found.not_run)
        yield from (f"log: {text}" for text in found.log_tail[-2:])
    gate = dict(found.explanations).get(GATE_TITLE, ())
    if gate:
        yield _joined(GATE_TITLE.lower(), gate, limit=_MOST_OF_GATE)  # its error rates stand last
    elif found.divergence:
        yield _joined("first divergence", in_short(found.divergence))
    cause = [fact for fact in cause_facts(found.cause) if fact[0] in IN_CAUSE]
    if cause:
        yield _joined("cause", cause)
    if found.verdict in {Verdict.REGRESSION, Verdict.STALE_GOLDEN} and (changed := what_changed(found)):
        yield _joined("what changed", changed)


def _joined(title: str, facts: Sequence[tuple[str, str]], *, limit: int = _MOST_OF_LINE) -> str:
    texts = (value if label == "what" else f"{label} {value}" for label, value in facts)
    return one_line(f"{title}: {'; '.join(texts)}", limit=limit)


def _counts(found: Outline, left_out: list[ReportRow]) -> str:
    if found.verdict is Verdict.NOT_RUN:
        return "none was made, because a run did not finish (-v lists all)"
    passed = sum(row.status is Status.PASSED for row in found.rows)
    names = f"; also did not pass: {', '.join(row.id for row in left_out)}" if left_out else ""
    return f"{', '.join((f'{passed} passed', *counts(found)))}{names} (-v lists all)"
