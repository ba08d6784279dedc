"""A report on one screen: about 30 lines, with every row that did not pass.

A sentence is never cut. Rows that have no room are named without their reasons, other things that it leaves
out are counted; ``-v`` and the report's page show all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from reprokit.core.checklist import Status, Verdict
from reprokit.core.verdicts.rows import counted
from reprokit.reports.escaping import Visible
from reprokit.reports.formats.explanations import CODE_TITLE, GATE_TITLE, ROUNDING_TITLE
from reprokit.reports.formats.report_content import Outline, ReportRow, in_short
from reprokit.reports.pages.cause import cause_facts
from reprokit.reports.terminal.row_groups import that_matter
from reprokit.reports.terminal.terminal_lines import (
    MOST_LINES,
    TerminalLine,
    cut,
    fact_lines,
    steps,
    with_commands,
    wrapped,
)

_MOST_OF_LOG = 6
_MOST_OF_FAILURE = 8
_LINES_OF_DATA = 2
_MOST_OF_GATE = 8
_WITHOUT_GOLDEN = frozenset({"equals_golden", "environment_compatible"})
IN_CAUSE = ("answer", "source", "fix", "kept in")


def summary(found: Outline, *, width: int) -> list[TerminalLine]:
    """The verdict, why, the first divergence, the rows that did not pass, and what to type next.

    A command that is longer than a line continues after a backslash, so that it can be copied. Lines have at
    most ``width`` columns; only a single word of a command may be longer.
    """
    above = [*_verdict(found, width=width), *_what_happened(found, width=width)]
    below = [*_rest(found, width=width), *_commands(found, width=width)]
    room = MOST_LINES - len(above) - len(below)
    return [*above, *_rows(not_passed(found), width=width, room=room), *below]


def _verdict(found: Outline, *, width: int) -> Iterator[TerminalLine]:
    """The verdict, then its sentence; where there is no golden yet, that the runs agree comes first."""
    about = f"{found.recipe} · {found.platform} · seed {found.seed}"
    verdict = [
        TerminalLine(text=text, tone="verdict")
        for text in wrapped(about, width=width, lead=f"{found.verdict.value}  ")
    ]
    sentence = [TerminalLine(text=text) for text in wrapped(found.sentence, width=width)]
    first_run = found.verdict is Verdict.NO_GOLDEN
    yield from [*sentence, *verdict] if first_run else [*verdict, *sentence]


def _what_happened(found: Outline, *, width: int) -> Iterator[TerminalLine]:
    yield from fact_lines("What happened", found.not_run, width=width, most=_MOST_OF_FAILURE)
    for text in found.log_tail[-_MOST_OF_LOG:]:
        yield TerminalLine(text=cut(f"  │ {text}", width=width), tone="dim")
    gate = dict(found.explanations).get(GATE_TITLE, ())
    yield from fact_lines(GATE_TITLE, gate, width=width, most=_MOST_OF_GATE)
    divergence = () if gate else in_short(found.divergence)
    yield from fact_lines("First divergence", divergence, width=width, most_of_value=_LINES_OF_DATA)
    cause = [fact for fact in cause_facts(found.cause) if fact[0] in IN_CAUSE]
    yield from fact_lines("Cause", cause, width=width)
    if found.verdict in {Verdict.REGRESSION, Verdict.STALE_GOLDEN}:
        yield from fact_lines("What changed", what_changed(found), width=width)
    elif found.verdict is Verdict.NONDETERMINISTIC:
        code = dict(found.explanations).get(CODE_TITLE, ())[1:]
        yield from fact_lines("What changed since the golden", code, width=width)


def what_changed(found: Outline) -> list[tuple[Visible, Visible]]:
    """The answer of the attribution, the files that changed, and what of the environment can matter."""
    explained = {str(title): facts for title, facts in found.explanations}
    mattering, _, _ = that_matter(found)
    environment = [(row.field, Visible(f"golden {row.expected}, now {row.actual}")) for row in mattering]
    answer = [fact for fact in explained.get("Code or environment", ()) if fact[0] == "answer"]
    answer += explained.get(str(ROUNDING_TITLE), ())[:1]
    return [*answer, *explained.get(str(CODE_TITLE), ())[1:], *environment]


def not_passed(found: Outline) -> list[ReportRow]:
    """Failed rows and errors first, then what is required and was not judged."""
    if found.verdict is Verdict.NOT_RUN:
        return []
    if found.verdict is Verdict.UNJUDGED:
        return [row for row in found.rows if _did_not_pass(row)]
    is_shown = bool(found.divergence) and GATE_TITLE not in dict(found.explanations)
    rows = [_in_short(row) if _says_it_again(row, found, is_shown=is_shown) else row for row in found.rows]
    if found.verdict is Verdict.NONDETERMINISTIC:  # what has changed may be the fault: no one commits it now
        rows = [replace(row, remedy=Visible("")) if row.id == "source_clean" else row for row in rows]
    failed = [row for row in rows if row.status in {Status.FAILED, Status.ERROR}]
    return [*failed, *(row for row in rows if row.status is Status.SKIPPED and row.required)]


def _did_not_pass(row: ReportRow) -> bool:
    return row.status in {Status.FAILED, Status.ERROR} or (row.status is Status.SKIPPED and row.required)


def _says_it_again(row: ReportRow, found: Outline, *, is_shown: bool) -> bool:
    """Whether a row's reason is the first divergence, or its remedy the command at the end, once more."""
    if found.verdict is Verdict.NO_GOLDEN:
        return row.status is Status.SKIPPED and row.id in _WITHOUT_GOLDEN
    said = "repeatable" if found.verdict is Verdict.NONDETERMINISTIC else "equals_golden"
    return is_shown and row.id == said and row.status is Status.FAILED


def _in_short(row: ReportRow) -> ReportRow:
    reason = row.reason if row.status is Status.SKIPPED else Visible("see the first divergence")
    return replace(row, reason=reason, remedy=Visible(""))


def _rows(rows: Sequence[ReportRow], *, width: int, room: int) -> list[TerminalLine]:
    """The rows with reasons and remedies as far as there is room; the first with its reason in any case.

    A reason has precedence over a remedy. A row without room for its reason is named all the same.
    """
    if not rows:
        return []
    reasons = [list(_reason(row, width=width)) for row in rows]
    remedies = [list(_remedy(row, width=width)) for row in rows]
    left = [
        room - 1 - sum(map(len, reasons[:at])) - len(_names(rows[at:], width=width))
        for at in range(len(rows) + 1)
    ]
    num_told = max((at for at in range(1, len(rows) + 1) if left[at] >= 0), default=1)
    spare = left[num_told]
    lines = [TerminalLine(text="")]
    for reason, remedy in zip(reasons[:num_told], remedies[:num_told], strict=True):
        has_room = len(remedy) <= spare
        lines += [*reason, *(remedy if has_room else ())]
        spare -= len(remedy) if has_room else 0
    return [*lines, *_names(rows[num_told:], width=width)]


def _names(rows: Sequence[ReportRow], *, width: int) -> list[TerminalLine]:
    if not rows:
        return []
    names = f"and {len(rows)} more that did not pass: {', '.join(row.id for row in rows)}"
    return [
        TerminalLine(text=text, tone="row", status=rows[0].status) for text in wrapped(names, width=width)
    ]


def _reason(row: ReportRow, *, width: int) -> Iterator[TerminalLine]:
    advisory = "" if row.required else " (advisory)"
    told = f"{row.id}{advisory}: {row.reason}"
    for text in wrapped(told, width=width, lead=f"{row.status.value:<9}"):
        yield _of_row(text, row)


def _of_row(text: str, row: ReportRow) -> TerminalLine:
    """An advisory row changes no verdict, so it has no colour next to one that passed."""
    return (
        TerminalLine(text=text, tone="row", status=row.status)
        if row.required
        else TerminalLine(text=text, tone="dim")
    )


def _remedy(row: ReportRow, *, width: int) -> Iterator[TerminalLine]:
    for text in with_commands(row.remedy, width=width, lead=f"{'':<9}→ ") if row.remedy else ():
        yield _of_row(text, row)


def counts(found: Outline) -> tuple[str, ...]:
    """How many rows did not pass, and how many advisory ones were skipped; nothing where none."""
    open_rows = sum(map(_did_not_pass, found.rows))
    number = sum(row.status is Status.SKIPPED and not row.required for row in found.rows)
    if any(words in found.sentence for words in (" optional check", " of the checklist ")):
        number = 0  # the sentence counts them already
    skipped = (
        "1 optional one does not apply or was not asked for"
        if number == 1
        else f"{number} optional ones do not apply or were not asked for"
    )
    return tuple(filter(None, (f"{open_rows} did not" if open_rows else "", skipped if number else "")))


def _rest(found: Outline, *, width: int) -> Iterator[TerminalLine]:
    passed = sum(row.status is Status.PASSED for row in found.rows)
    told = ", ".join((f"{counted(passed, 'check')} passed", *counts(found)))
    if found.verdict is Verdict.NOT_RUN:
        told = "No check was made, because a run did not finish"
    yield TerminalLine(text="")
    for text in wrapped(f"{told} (-v lists all checks)", width=width):
        yield TerminalLine(text=text, tone="dim")


def _commands(found: Outline, *, width: int) -> Iterator[TerminalLine]:
    yield TerminalLine(text="")
    for title, command in (("Run again", found.rerun), ("Next", found.next_command)):
        if command:
            yield from steps(title, command, width=width)
