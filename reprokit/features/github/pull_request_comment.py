"""One comment on a pull request: the verdicts, the first divergence of each, the line that is to blame.

The reports were written by the code of the pull request, so their text is shown in code type, where GitHub
and GitLab read neither links nor mentions nor references, and no command of theirs is offered for copying.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from reprokit.core.checklist import Report, Status, Verdict
from reprokit.features.github.collected import Collected
from reprokit.reports.comparison_record import ComparisonRecord
from reprokit.reports.escaping import Visible, markdown_block, markdown_code, one_line
from reprokit.reports.formats.report_content import Outline, in_short, outline
from reprokit.reports.gate_record import GateRow

#: The first line of every such comment, by which it is found again.
MARKER = "<!-- reprokit: this comment is kept up to date -->"

#: GitHub takes 65,536 characters.
MAX_CHARACTERS = 60_000

_SIGNS = {0: "✅", 1: "❌"}
_GRAVEST_FIRST = (130, 143, 1, 3, 2, 4, 0)
_MOST_TOLD = 10
_MOST_CARDS = 3
_MOST_ROWS = 5
_MOST_COMPARED = 20
_MAX_TABLE = 15_000
_SAFE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
_SEED = re.compile(r"[0-9]{1,10}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOrigin:
    """The workflow run that left the reports, as its host tells it: nothing of it is the reports' own."""

    commit: str
    url: str
    conclusion: str


def comment(found: Collected, *, origin: ReportOrigin | None = None) -> str:
    """Markdown for all that a gate judged, each result once, the recipes that did not pass first."""
    found, repeated = _distinct(found)
    rows = sorted(found.reports, key=lambda one: _GRAVEST_FIRST.index(one[0].exit_code))
    bad = [(row, report) for row, report in rows if row.exit_code != 0]
    believed = origin is None or origin.conclusion == "success" or found.gate.exit_code != 0
    sign = _SIGNS.get(found.gate.exit_code, "❔") if believed else "❔"
    parts = [f"{MARKER}\n## {sign} reprokit: {_counts(found)}"]
    if origin is not None and not believed:
        parts.append(
            f"The reports say that every recipe passed, but the workflow run ended with "
            f"{_code(origin.conclusion)}: believe the workflow run."
        )
    if repeated:
        parts.append(
            f"{repeated:,} of {repeated + len(found.reports):,} rows of the gate repeat another row "
            "(the same recipe, seed and runs): each result is counted once."
        )
    compared = _compared(found.comparisons, passed=found.gate.exit_code == 0)
    if found.gate.exit_code != 0 and not bad and not compared:
        parts.append(f"No recipe explains the gate's exit code {found.gate.exit_code}: look at its log.")
    told = [_told(row, report) for row, report in bad[:_MOST_TOLD]]
    listed = [row for row, _ in rows if row.exit_code == 0] + [row for row, _ in bad[_MOST_TOLD:]]
    others = _others(listed, what="more" if told else "in all")
    return _joined([*parts, compared], told, [others, _footer(origin)])


def _compared(found: ComparisonRecord | None, *, passed: bool) -> str:
    """A line for each recipe that was compared with another commit; "" where none was.

    Numbers may move unless the owner said otherwise: no cross stands below a gate that passed.
    """
    if found is None or not found.rows:
        return ""
    sign = "⚠️" if passed else "❌"
    lines = [f"**Compared with** {_code(found.against, limit=60)}:"]
    for row in found.rows[:_MOST_COMPARED]:
        moved = "moved" if row.record is None else f"moved from record {row.record:,} on"
        told = {"equal": "✅ no number moved", "different": f"{sign} {moved}: {_code(row.sentence)}"}
        result = told.get(row.answer or "", f"❔ not known: {_code(row.sentence)}")
        lines.append(f"- {_code(row.recipe, limit=100)} {result}")
    if len(found.rows) > _MOST_COMPARED:
        lines.append(f"- and {len(found.rows) - _MOST_COMPARED:,} more")
    return "\n".join(lines)


def no_answer(problem: str, *, origin: ReportOrigin | None = None) -> str:
    """Markdown for a gate whose answers are missing or refused: an earlier comment must not stay green."""
    return _joined(
        [f"{MARKER}\n## ❔ reprokit: nothing is known about this commit", _code(problem, limit=1000)],
        [],
        [_footer(origin)],
    )


def _joined(head: Sequence[str], told: Sequence[str], foot: Sequence[str]) -> str:
    """All parts, without those of ``told`` that GitHub would not take, which are counted."""
    room = MAX_CHARACTERS - sum(len(part) + 2 for part in (*head, *foot)) - 200
    shown: list[str] = []
    for part in told:
        room -= len(part) + 2
        if room < 0:
            break
        shown.append(part)
    cut = len(told) - len(shown)
    note = [f"{cut} more did not pass; their reports are in the artifact."] if cut else []
    return "\n\n".join(part for part in (*head, *shown, *note, *foot) if part) + "\n"


def _distinct(found: Collected) -> tuple[Collected, int]:
    """The answers without rows that repeat another one, and how many those are.

    Two reports of the same runs are one result, however often and in however many copies they are named.
    """
    first: dict[object, tuple[GateRow, Report | None]] = {}
    for row, report in found.reports:
        told = (row.recipe, row.seed, row.verdict, row.error, row.left_out)
        made = report and (report.platform, tuple(report.runs))
        first.setdefault((told, made), (row, report))
    rows = tuple(first.values())
    gate = replace(found.gate, recipes=tuple(row for row, _ in rows))
    return replace(found, gate=gate, reports=rows), len(found.reports) - len(rows)


def _counts(found: Collected) -> str:
    named = [
        row.verdict.value if row.verdict else "left out" if row.left_out else "ERROR"
        for row in sorted(found.gate.recipes, key=lambda row: _GRAVEST_FIRST.index(row.exit_code))
    ]
    counted = [f"{number} {name}" for name, number in Counter(named).items()]
    return ", ".join(counted) or "no recipe was judged"


def _told(row: GateRow, report: Report | None) -> str:
    sign = _SIGNS.get(row.exit_code, "❔")
    if report is None:
        return f"### {sign} ERROR: {_code(row.recipe)}\n\n{_code(row.error, limit=500)}"
    found = outline(report)
    head = f"### {sign} {found.verdict.value}: {_code(found.recipe)}, seed {_code(found.seed)}"
    return "\n\n".join([head, *_parts(found)])


def _parts(found: Outline) -> Iterator[str]:
    yield f"{found.meaning.capitalize()}."
    if found.sentence:
        yield _code(found.sentence, limit=500)
    yield from _table("First divergence", in_short(found.divergence), labels=str)
    if found.cause is not None:
        for card in found.cause.cards[:_MOST_CARDS]:
            yield f"**Cause:** {_code(card.category)} at {_code(card.place)}<br>{_code(card.what)}"
            if card.fix:
                yield f"**Fix:** {_code(card.fix)}"
        if not found.cause.cards:
            yield f"**Cause:** {_code(found.cause.headline)}"
    if found.verdict in {Verdict.REGRESSION, Verdict.STALE_GOLDEN}:
        changed = dict(found.explanations).get(Visible("Code since the golden"), ())
        yield from _table("Changed since the golden", changed)
    yield from _table("What happened", found.not_run)
    if found.log_tail:
        yield f"<details><summary>End of its log</summary>\n\n{_block(found.log_tail[-20:])}\n\n</details>"
    yield from _failed(found)
    if _SAFE_NAME.fullmatch(found.recipe) and _SEED.fullmatch(found.seed):
        command = Visible(f"reprokit reproduce {found.recipe} --seed {found.seed}")
        yield f"To see it on your machine:\n\n{_block((command,))}"


def _failed(found: Outline) -> Iterator[str]:
    """The rows that decided a verdict which the numbers did not."""
    if found.verdict not in {Verdict.CHECK_FAILED, Verdict.UNJUDGED}:
        return
    rows = [row for row in found.rows if row.required and row.status is not Status.PASSED]
    lines = [f"- {row.status.value} {_code(row.id)}: {_code(row.reason)}" for row in rows[:_MOST_ROWS]]
    if len(rows) > _MOST_ROWS:
        lines.append(f"- and {len(rows) - _MOST_ROWS} more")
    yield "\n".join(lines)


def _table(
    title: str, facts: Sequence[tuple[str, str]], *, labels: Callable[[str], str] | None = None
) -> Iterator[str]:
    """A table; its labels are shown as code where they may be the reports' own words."""
    if not facts:
        return
    rows = [f"| {(labels or _code)(label)} | {_code(value)} |" for label, value in facts[:8]]
    yield "\n".join([f"| {title} | |", "| --- | --- |", *rows])


def _others(rows: Sequence[GateRow], *, what: str) -> str:
    """A table of at most ``_MAX_TABLE`` characters."""
    if not rows:
        return ""
    lines = ["| Recipe | |", "| --- | --- |"]
    room = _MAX_TABLE
    for number, row in enumerate(rows):
        line = f"| {_code(row.recipe, limit=100)} | {_result(row)} |"
        room -= len(line) + 1
        if room < 0:
            lines.append(f"| and {len(rows) - number:,} more | |")
            break
        lines.append(line)
    table = "\n".join(lines)
    return f"<details><summary>{len(rows):,} {what}</summary>\n\n{table}\n\n</details>"


def _result(row: GateRow) -> str:
    if row.verdict is not None:
        return f"{_SIGNS.get(row.exit_code, '❔')} {row.verdict.value}, seed {row.seed}"
    return f"left out: {_code(row.left_out)}" if row.left_out else f"❔ ERROR: {_code(row.error)}"


def _footer(origin: ReportOrigin | None) -> str:
    if origin is None:
        return ""
    return (
        f"<sub>For commit {_code(origin.commit)}, by [this workflow run]({origin.url}). The reports were "
        "written by the code of the pull request: the check decides, not this comment.</sub>"
    )


def _code(text: str, *, limit: int = 300) -> str:
    return markdown_code(one_line(text, limit=limit)) or "–"


def _block(lines: Sequence[Visible]) -> str:
    return markdown_block(tuple(one_line(line, limit=300) for line in lines))
