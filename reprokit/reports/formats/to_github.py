"""Reports on GitHub: the step's summary, and annotations on lines of the program and the recipe.

GitHub shows 1 MiB of summary and ten annotations of each kind for a step
(https://docs.github.com/en/actions/reference/workflow-commands-for-github-actions), so both functions take
all reports of a step, and say what they cut.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reprokit.core.checklist import Report, Status, Verdict
from reprokit.reports.escaping import (
    Visible,
    github_message,
    github_property,
    markdown,
    markdown_code,
    one_line,
)
from reprokit.reports.formats.report_content import outline, outline_elsewhere
from reprokit.reports.formats.to_markdown import heading, sections
from reprokit.reports.gate_record import GateRecord
from reprokit.reports.pages.cause import CausePage, cause_page
from reprokit.reports.pages.report_page import far_apart, numbered

SUMMARY_BYTES = 1 << 20
ANNOTATIONS_EACH = 10

_MESSAGE_CHARACTERS = 1000
_MOST_ROWS = 50
_NOTE_BYTES = 2000
_KINDS = ("error", "warning")

# Rows that say again what the verdict says.
_IN_VERDICT = {
    Verdict.NONDETERMINISTIC: {"repeatable"},
    Verdict.REGRESSION: {"equals_golden"},
    Verdict.STALE_GOLDEN: {"equals_golden", "environment_compatible"},
    Verdict.NO_GOLDEN: {"equals_golden", "environment_compatible"},
}

# Where in a recipe a row is decided; the row's own id is looked up first.
_RECIPE_KEYS = {
    "equals_golden": ("tolerances",),
    "headline_results": ("expected",),
    "expected_declared": ("expected",),
    "checkpoints_complete": ("logging.save_interval", "logging"),
    "logs_complete": ("logging",),
    "config_saved": ("training",),
    "data_recorded": ("data",),
    "environment_compatible": ("numerics",),
    "nondeterminism_declared": ("nondeterminism",),
    "versions_locked": ("variant",),
    "pinned_image": ("variant",),
    "several_seeds": ("seeds",),
    "statistics": ("seeds",),
    "unchanged_when_varied": ("immune_to",),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Annotation:
    kind: str
    file: Visible
    line: int
    title: Visible
    message: Visible


def step_summary(reports: Sequence[Report], *, limit_bytes: int = SUMMARY_BYTES) -> str:
    """Markdown for ``$GITHUB_STEP_SUMMARY``, at most ``limit_bytes`` of UTF-8.

    Headings get room first, then the sections of each report in turn; the last paragraph names what was cut.
    """
    outlines = [outline_elsewhere(report) for report in reports]
    texts = [heading(found, level=2) for found in outlines]
    room = limit_bytes - _NOTE_BYTES
    num_shown = _how_many_fit(texts, room)
    room -= sum(_size(text) for text in texts[:num_shown])
    cut = [f"{len(texts) - num_shown:,} whole reports"] if num_shown < len(texts) else []
    parts: list[str] = []
    for text, found in zip(texts[:num_shown], outlines, strict=False):
        parts.append(text)
        for section in sections(found):
            body = f"### {section.title}\n\n{section.text}"
            if _size(body) <= room:
                parts.append(body)
                room -= _size(body)
            else:
                cut.append(section.name or f"“{section.title}”")
    if cut:
        named = ", ".join(cut[:10]) + (f" and {len(cut) - 10:,} more" if len(cut) > 10 else "")
        parts.append(
            f"_Cut to stay within GitHub's {limit_bytes:,} bytes: {named}. The report folder has all of it._"
        )
    return "\n\n".join(parts) + "\n"


def gate_section(gate: GateRecord) -> str:
    """What the summary says of recipes without a report, and of a gate that judged none; else ""."""
    rows = [row for row in gate.recipes if row.verdict is None]
    if gate.recipes and not rows:
        return ""
    judged = len(gate.recipes) - len(rows)
    sign = "✅" if gate.exit_code == 0 else "❌" if gate.exit_code == 1 else "❔"
    lines = [
        f"## {sign} {judged:,} recipes judged, {len(rows):,} not",
        "",
        f"Exit code {gate.exit_code}.",
        "",
    ]
    if not rows:
        lines.append("No recipe declares this platform: there was nothing to judge.")
    for row in rows[:_MOST_ROWS]:
        kind, why = ("ERROR", row.error) if row.error else ("Left out", row.left_out)
        lines.append(f"- {kind}: {markdown_code(one_line(row.recipe))}: {markdown(one_line(why, limit=500))}")
    if len(rows) > _MOST_ROWS:
        lines.append(f"- and {len(rows) - _MOST_ROWS:,} more")
    return "\n".join(lines) + "\n\n"


def annotation_commands(reports: Sequence[Report], *, each: int = ANNOTATIONS_EACH) -> tuple[str, ...]:
    """Workflow commands to print, one a line: at most ``each`` errors and warnings.

    Errors are verdicts that are not good and required rows that did not pass; an advisory row that failed is
    a warning. Verdicts come first; where there are too many, the last one counts what was cut. Nothing is
    said of advisory rows that were skipped, nor of rows that say what the verdict says.
    """
    verdicts = [
        found for report in reports for found in (*_of_verdict(report), *_of_cause(outline(report).cause))
    ]
    rows = [found for report in reports for found in _of_rows(report)]
    lines: list[str] = []
    for kind in _KINDS:
        found = [one for one in (*verdicts, *rows) if one.kind == kind]
        lines += [_command(one) for one in _within(found, each)]
    return tuple(lines)


def cause_commands(found: Mapping[str, Any], *, each: int = ANNOTATIONS_EACH) -> tuple[str, ...]:
    """An error on the line of each cause that `reprokit diagnose` found; paths from the repository's root."""
    return tuple(_command(one) for one in _within(list(_of_cause(cause_page(found))), each))


def _of_cause(page: CausePage | None) -> Iterator[_Annotation]:
    for card in page.cards if page else ():
        file, _, line = card.place.rpartition(":")
        known = bool(file) and line.isdecimal()
        yield _Annotation(
            kind="error",
            file=Visible(file if known else ""),
            line=int(line) if known else 1,
            title=one_line(f"Cause: {card.category}", limit=200),
            message=_message(card.what, card.fix),
        )


def _of_verdict(report: Report) -> Iterator[_Annotation]:
    found = outline_elsewhere(report)
    if report.exit_code == 0:
        return
    far = far_apart(report)
    file, line = _place_of_verdict(report)
    yield _Annotation(
        kind="error",
        file=file,
        line=line,
        title=one_line(f"{found.verdict.value}: {report.recipe}", limit=200),
        message=_message(one_line(f"{found.sentence} {far}") if far else found.sentence, found.next_command),
    )


def _place_of_verdict(report: Report) -> tuple[Visible, int]:
    """The program's line, where one is known, else the line of the recipe."""
    known = [one for one in _of_cause(outline(report).cause) if one.file]
    if known:
        return known[0].file, known[0].line
    files = report.code_changes.files if report.code_changes else ()
    if report.verdict is Verdict.REGRESSION:
        for file in files:
            for number, text in numbered(file.diff):
                if number and text.startswith("+"):
                    return one_line(file.path), int(number)
    metric = report.divergence.metric if report.divergence else None
    keys = (f"tolerances.{metric}", "tolerances") if metric else ()
    return one_line(report.recipe_file or ""), _line(report, *keys)


def _of_rows(report: Report) -> Iterator[_Annotation]:
    if report.verdict is Verdict.NOT_RUN:  # no row says more than that
        return
    said = _IN_VERDICT.get(report.verdict, set())
    for row in outline(report).rows:
        unasked = row.status is Status.SKIPPED and not row.required
        if row.status is Status.PASSED or unasked or row.id in said:
            continue
        yield _Annotation(
            kind="error" if row.required else "warning",
            file=one_line(report.recipe_file or ""),
            line=_line(report, row.id, *_RECIPE_KEYS.get(row.id, ())),
            title=one_line(f"{row.status.value}: {row.title} ({report.recipe})", limit=200),
            message=_message(row.reason, row.remedy),
        )


def _line(report: Report, *keys: str) -> int:
    return next((report.recipe_lines[key] for key in keys if key in report.recipe_lines), 1)


def _message(what: Visible, hint: Visible) -> Visible:
    return one_line(f"{what.removesuffix('.')}. Hint: {hint}" if hint else what, limit=_MESSAGE_CHARACTERS)


def _within(found: Sequence[_Annotation], each: int) -> Sequence[_Annotation]:
    if len(found) <= each:
        return found
    last = found[each - 1]
    num_cut = len(found) - each + 1
    note = _Annotation(
        kind=last.kind,
        file=last.file,
        line=1,
        title=Visible(f"{num_cut:,} more of this kind"),
        message=Visible(
            f"GitHub shows {each} of each kind a step; the summary and the report folder have all."
        ),
    )
    return (*found[: each - 1], note)


def _command(one: _Annotation) -> str:
    place = f"file={github_property(one.file)},line={one.line}," if one.file else ""
    return f"::{one.kind} {place}title={github_property(one.title)}::{github_message(one.message)}"


def _how_many_fit(texts: Sequence[str], room: int) -> int:
    for number, text in enumerate(texts):
        room -= _size(text)
        if room < 0:
            return number
    return len(texts)


def _size(text: str) -> int:
    return len(text.encode("utf-8")) + 2
