"""A report in GitHub's Markdown: ``report.md``, and the sections of the step summary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reprokit.core.checklist import Report, Status
from reprokit.reports.escaping import markdown, markdown_block, markdown_code, markdown_prose
from reprokit.reports.format_values import Facts
from reprokit.reports.formats.report_content import (
    Compared,
    FactGroup,
    ForeignSection,
    Outline,
    ReportRow,
    outline,
)
from reprokit.reports.pages.cause import cause_facts

_VERDICT_SIGNS = {"good": "✅", "bad": "❌", "plain": "⚪", "unknown": "❔"}
_STATUS_SIGNS = {Status.PASSED: "✅", Status.FAILED: "❌", Status.SKIPPED: "⏭️", Status.ERROR: "❗"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A heading and what stands under it; ``name`` says which it is where others chose the heading."""

    title: str
    text: str
    name: str = ""


def to_markdown(report: Report) -> str:
    """The whole report as a Markdown document."""
    found = outline(report)
    parts = [
        heading(found, level=1),
        *(f"## {section.title}\n\n{section.text}" for section in sections(found)),
    ]
    return "\n\n".join(parts) + "\n"


def heading(found: Outline, *, level: int) -> str:
    """Verdict, subject, sentence and next command: what must never be cut."""
    where = f"{markdown_code(found.platform)}, seed {markdown_code(found.seed)}"
    lines = [
        f"{'#' * level} {_VERDICT_SIGNS[found.tone]} {found.verdict.value}: {markdown(found.recipe)}",
        f"**{markdown(found.sentence)}**" if found.sentence else "",
        f"{found.verdict.value} means: {found.meaning}. Exit code {found.exit_code}. On {where}.",
    ]
    if found.next_command:
        lines += ["Next:", markdown_block((found.next_command,))]
    return "\n\n".join(line for line in lines if line)


def sections(found: Outline) -> tuple[Section, ...]:
    """Everything below the heading, the most needed first."""
    candidates = (
        Section(title="What happened", text=_what_happened(found)),
        Section(title="First divergence", text=_facts(found.divergence)),
        Section(title="Cause", text=_facts(cause_facts(found.cause))),
        Section(title=f"Checklist: {found.counts}", text=_checklist(found.rows)),
        *(Section(title=title, text=_facts(facts)) for title, facts in found.explanations),
        Section(title="Environment compared with the golden's", text=_differences(found)),
        Section(title="How to run it again", text=markdown_block((found.rerun,)) if found.rerun else ""),
        Section(title="Errors of each metric", text="\n\n".join(map(_compared, found.comparisons))),
        Section(title="Subject", text=_facts(found.subject)),
        Section(title="Timing", text=_facts(found.timing)),
        Section(title="Environment", text="\n\n".join(map(_group, found.environment))),
        *(
            Section(title=markdown(one.title), text=_foreign(one), name="what an extension wrote")
            for one in found.sections
        ),
        Section(title="Made by", text=markdown_block((found.command,)) if found.command else ""),
    )
    return tuple(section for section in candidates if section.text)


def _what_happened(found: Outline) -> str:
    parts = [_facts(found.not_run)] if found.not_run else []
    if found.log_tail:
        parts += ["The end of its log:", markdown_block(found.log_tail)]
    return "\n\n".join(parts)


def _checklist(rows: Sequence[ReportRow]) -> str:
    cells = [
        (
            f"{_STATUS_SIGNS[row.status]} {row.status.value}",
            f"{markdown(row.title)}<br>{markdown_code(row.id)}{'' if row.required else ' (advisory)'}",
            markdown_prose(row.reason)
            + (f"<br>**Hint:** {markdown_prose(row.remedy)}" if row.remedy else ""),
        )
        for row in rows
    ]
    return _table(("Status", "Check", "Why"), cells) if cells else ""


def _foreign(one: ForeignSection) -> str:
    escaped = [[tuple(map(markdown, row)) for row in rows] for rows in one.tables]
    tables = [_table(head, rows) for head, *rows in escaped]
    return "\n\n".join([markdown(one.note), *map(markdown, one.paragraphs), *tables])


def _differences(found: Outline) -> str:
    if not found.differences:
        return ""
    cells = [
        (
            markdown_code(row.field),
            markdown_code(row.expected),
            markdown_code(row.actual),
            f"**{row.effect}**: {markdown(row.why)}" if row.why else f"**{row.effect}**",
        )
        for row in found.differences
    ]
    table = _table(("Field", "Golden", "This run", "Can change numbers"), cells)
    cut = found.num_differences_cut
    return f"{table}\n\n{cut:,} more in report.json." if cut else table


def _compared(one: Compared) -> str:
    parts = [f"**{one.title}**: {one.summary}."]
    if one.metrics:
        cells = [
            (
                markdown_code(row.metric),
                row.mismatches,
                markdown_code(row.first_step),
                row.max_abs_error,
                row.max_rel_error,
            )
            for row in one.metrics
        ]
        head = ("Metric", "Mismatches", "First step", "Largest absolute error", "Largest relative error")
        parts.append(_table(head, cells))
    if one.num_cut:
        parts.append(f"{one.num_cut:,} more metrics differ; see report.json.")
    parts += ["\n".join(f"- {markdown(problem)}" for problem in one.problems)] if one.problems else []
    return "\n\n".join(parts)


def _group(group: FactGroup) -> str:
    cut = f"\n\n{group.num_cut:,} more in report.json." if group.num_cut else ""
    return f"<details><summary>{markdown(group.name)}</summary>\n\n{_facts(group.facts)}{cut}\n\n</details>"


def _facts(facts: Facts) -> str:
    cells = [(markdown(label), markdown_code(value)) for label, value in facts]
    return _table(("What", "Value"), cells) if cells else ""


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
