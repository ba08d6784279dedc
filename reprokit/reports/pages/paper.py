"""What a report says on paper: sections of few kinds of parts, cut to the room that four pages have.

Everything is plain text in plain lists: ``report.typ`` draws it, and reads none of it as markup.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reprokit.core.checklist import Report, Status
from reprokit.reports.charts.axes import Tick
from reprokit.reports.charts.curves import HEIGHT, WIDTH, Chart, Charts
from reprokit.reports.escaping import Visible, pieces
from reprokit.reports.format_values import Facts
from reprokit.reports.formats.report_content import Compared, ForeignSection, Outline, ReportRow, outline
from reprokit.reports.pages.cause import cause_facts
from reprokit.reports.pages.next_steps import is_choice
from reprokit.reports.pages.report_page import DiffLine, ReportPage, report_page

#: What the fonts inside typst have a sign for. Any other is named by its number: a box says nothing.
NO_SIGN = re.compile("[^ -~\u00a0-\u017f\u0391-\u03a1\u03a3-\u03c9\u0410-\u044f‘’“”–—…•≤≥≠≈±×·→←−∞″✓✕]")
_WHERE = "see the HTML page"

Part = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """How much of a report is shown: rows of a table, lines of a file, characters of a text, charts."""

    rows: int
    lines: int
    characters: int
    charts: int


#: From a report that has room to one of whose many rows only the first are shown.
ROOMS = (
    Room(rows=40, lines=60, characters=1500, charts=8),
    Room(rows=24, lines=36, characters=700, charts=6),
    Room(rows=12, lines=20, characters=400, charts=4),
    Room(rows=6, lines=10, characters=220, charts=2),
    Room(rows=3, lines=4, characters=120, charts=2),
)


def paper(report: Report, room: Room) -> dict[str, Any]:
    """What ``report.typ`` draws: the texts of the head, and sections, each with its parts."""
    found = outline(report)
    shown = report_page(report, found)
    pages = _Paper(room)
    subject = f"{found.recipe} · {found.platform} · seed {found.seed} · {found.created_at}"
    meaning = f"{found.verdict.value} means: {found.meaning}. Exit code {found.exit_code}."
    sections = [{"title": title, "parts": parts} for title, parts in _sections(pages, found, shown) if parts]
    return {
        "title": f"{found.verdict.value}: {pages.text(found.recipe)}",
        "kicker": "reprokit · reproducibility report",
        "footer": "report.json is attached. `reprokit report verify FILE.pdf` checks both.",
        "verdict": found.verdict.value,
        "tone": found.tone,
        "sentence": pages.text(found.sentence),
        "far": pages.text(Visible(". ".join(one for one in (shown.far, shown.also) if one))),
        "subject": pages.text(subject),
        "meaning": pages.text(meaning),
        "sections": sections,
    }


def _sections(pages: _Paper, found: Outline, shown: ReportPage) -> Iterator[tuple[str, list[Part]]]:
    yield "What to do next", pages.steps(shown)
    yield "What happened", [*pages.facts(found.not_run), *pages.log(found.log_tail)]
    yield str(shown.not_passed_title), pages.rows(shown.not_passed)
    yield "What changed since the golden", _changes(pages, shown)
    yield "First divergence", [*pages.facts(found.divergence), *pages.nearby(shown)]
    yield "Cause", pages.facts(cause_facts(found.cause))
    drawn = shown.different or tuple(one.chart for one in shown.equal)
    yield (
        "Curves, those that differ first" if shown.equal and shown.different else "Learning curves",
        pages.charts(drawn, shown.curves),
    )
    yield "Errors of each metric", [part for one in found.comparisons for part in pages.errors(one)]
    for title, facts in shown.left:
        yield str(title), pages.facts(facts)
    yield "Environment, compared with the golden's", pages.differences(found)
    yield f"All rows: {found.counts}", pages.checklist(found.rows)
    for one in found.sections[: pages.room.rows]:
        yield str(one.title), pages.foreign(one)
    if cut := _more(len(found.sections) - pages.room.rows, "sections of extensions"):
        yield "Extensions", [{"kind": "text", "text": cut}]
    yield "Environment", pages.environment(found)
    yield "Runs and timing", pages.facts((*found.subject, *found.timing))
    rerun = [pages.command(found.rerun)] if found.rerun else []
    yield "How to run it again", rerun


def _changes(pages: _Paper, shown: ReportPage) -> list[Part]:
    parts = [*pages.facts(shown.changes), *pages.changed(shown)]
    if shown.attribution:
        parts += [_title("Code or environment"), *pages.facts(shown.attribution)]
    return parts


def _title(text: str) -> Part:
    return {"kind": "title", "text": text}


def _more(number: int, what: str = "rows") -> str:
    """What was cut, honestly."""
    one = what.removesuffix("s") if number == 1 else what
    return f"… and {number:,} more {one}: {_WHERE}" if number > 0 else ""


def _numbered(line: DiffLine) -> Visible:
    return Visible(f"{line.number:>5} {'→' if line.is_cause else ' '} {line.text}")


def _name(match: re.Match[str]) -> str:
    return match[0].encode("ascii", "backslashreplace").decode("ascii")


class _Paper:
    """The parts of a report in a certain room."""

    def __init__(self, room: Room) -> None:
        self.room = room

    def text(self, value: str) -> Visible:
        """One text, cut at the room's number of characters, with signs that the fonts have."""
        most = self.room.characters
        cut = f"{value[:most]}… ({len(value) - most:,} more characters)" if len(value) > most else value
        return Visible(NO_SIGN.sub(_name, cut))

    def command(self, value: str) -> Part:
        return {"kind": "command", "text": self.text(value)}

    def steps(self, shown: ReportPage) -> list[Part]:
        kept = [
            {"words": self.text(one.words), "command": self.text(one.command)}
            for one in shown.steps[: self.room.rows]
        ]
        more = _more(len(shown.steps) - len(kept), "steps")
        numbered = not is_choice(shown.steps)
        return [{"kind": "steps", "steps": kept, "numbered": numbered, "more": more}] if kept else []

    def facts(self, facts: Facts) -> list[Part]:
        kept = [(self.text(label), self.text(value)) for label, value in facts[: self.room.rows]]
        more = _more(len(facts) - len(kept), "facts")
        return [{"kind": "facts", "rows": kept, "more": more}] if kept else []

    def log(self, lines: Sequence[str]) -> list[Part]:
        kept = [self.text(line) for line in lines[-self.room.lines :]]
        return [_title("The end of its log"), {"kind": "code", "lines": kept}] if kept else []

    def rows(self, rows: Sequence[ReportRow]) -> list[Part]:
        kept = [
            {
                "status": row.status.value,
                "title": self.text(row.title),
                "id": self.text(row.id),
                "note": "" if row.required else "advisory",
                "reason": pieces(self.text(row.reason)),
                "hint": pieces(self.text(row.remedy)),
            }
            for row in rows[: self.room.rows]
        ]
        head, more = ["Status", "Check", "Why, and hint"], _more(len(rows) - len(kept))
        return [{"kind": "rows", "head": head, "rows": kept, "more": more}] if kept else []

    def checklist(self, rows: Sequence[ReportRow]) -> list[Part]:
        """All rows by name, those that did not pass first; why they did not stands before."""
        ordered = sorted(rows, key=lambda row: row.status is Status.PASSED)
        cells = [(row.status.value, str(row.id), str(row.title)) for row in ordered]
        return self.table(["Status", "Row", "Check"], cells, widths=(1, 3, 5))

    def changed(self, shown: ReportPage) -> Iterator[Part]:
        most = self.room.lines
        for file in shown.changed[: self.room.rows]:
            yield {
                "kind": "changed",
                "path": self.text(file.path),
                "counts": self.text(file.counts),
                "lines": [(one.kind, self.text(_numbered(one))) for one in file.lines[:most]],
                "more": _more(len(file.lines) - most, "lines"),
            }
            most = max(2, most - len(file.lines))
        if cut := _more(len(shown.changed) - self.room.rows, "files"):
            yield {"kind": "text", "text": cut}

    def nearby(self, shown: ReportPage) -> list[Part]:
        head = [
            "Record",
            "Step",
            str(shown.sides[0]).capitalize(),
            str(shown.sides[1]).capitalize(),
            "Compared",
        ]
        words = {"first": "first to differ", "differs": "differs", "equal": "equal"}
        cells = [(one.record, one.step, one.expected, one.actual, words[one.mark]) for one in shown.nearby]
        marked = {number for number, one in enumerate(shown.nearby) if one.mark == "first"}
        parts = self.table(head, cells, widths=(2, 2, 4, 4, 3), marked=marked)
        return [_title("The records before and after it"), *parts] if parts else []

    def errors(self, one: Compared) -> Iterator[Part]:
        yield {"kind": "text", "text": self.text(f"{one.title}: {one.summary}.")}
        head = ["Metric", "Mismatches", "First step", "Largest absolute error", "Largest relative error"]
        cells = [
            (row.metric, row.mismatches, row.first_step, row.max_abs_error, row.max_rel_error)
            for row in one.metrics
        ]
        yield from self.table(head, cells, widths=(4, 2, 2, 3, 3), num_cut=one.num_cut)
        yield from ({"kind": "text", "text": self.text(each)} for each in one.problems[: self.room.rows])

    def differences(self, found: Outline) -> list[Part]:
        head = ["Field", "Golden", "This run", "Can change numbers"]
        cells = [
            (row.field, row.expected, row.actual, f"{row.effect}: {row.why}" if row.why else row.effect)
            for row in found.differences
        ]
        return self.table(head, cells, widths=(3, 3, 3, 3), num_cut=found.num_differences_cut)

    def environment(self, found: Outline) -> list[Part]:
        """The facts of the environment record, those of each heading below each other."""
        cells = [
            (str(group.name) if number == 0 else "", str(label), str(value))
            for group in found.environment
            for number, (label, value) in enumerate(group.facts)
        ]
        num_cut = sum(group.num_cut for group in found.environment)
        return self.table(["What", "Field", "Value"], cells, widths=(2, 3, 6), num_cut=num_cut)

    def foreign(self, one: ForeignSection) -> list[Part]:
        texts = [{"kind": "text", "text": self.text(text)} for text in (one.note, *one.paragraphs)]
        kept = texts[: self.room.rows]
        if cut := _more(len(texts) - len(kept), "paragraphs"):
            kept.append({"kind": "text", "text": cut})
        shown = one.tables[: self.room.rows]
        tables = [self.table(head, rows, widths=[1] * len(head)) for head, *rows in shown]
        if cut := _more(len(one.tables) - len(shown), "tables"):
            tables.append([{"kind": "text", "text": cut}])
        return [*kept, *(part for table in tables for part in table)]

    def table(
        self,
        head: Sequence[str],
        rows: Sequence[Sequence[str]],
        *,
        widths: Sequence[int],
        marked: Sequence[int] | set[int] = (),
        num_cut: int = 0,
    ) -> list[Part]:
        """A table, without the rows for which there is no room."""
        kept = [
            {"cells": [self.text(cell) for cell in row], "marked": number in marked}
            for number, row in enumerate(rows[: self.room.rows])
        ]
        more = _more(len(rows) - len(kept) + num_cut)
        part = {
            "kind": "table",
            "head": [*map(self.text, head)],
            "rows": kept,
            "widths": [*widths],
            "more": more,
        }
        return [part] if kept else []

    def charts(self, drawn: Sequence[Chart], all_of_them: Charts) -> list[Part]:
        kept = [_chart(chart, metric=self.text(chart.metric)) for chart in drawn[: self.room.charts]]
        num_cut = len(drawn) - len(kept) + all_of_them.num_cut
        legend = [
            {"label": self.text(line.label), "kind": line.kind}
            for line in all_of_them.legend[: self.room.rows]
        ]
        part = {"kind": "charts", "charts": kept, "legend": legend, "more": _more(num_cut, "charts")}
        return [part] if kept else []


def _chart(chart: Chart, *, metric: str) -> Mapping[str, Any]:
    return {
        "metric": metric,
        "diverged": chart.diverged,
        "width": WIDTH,
        "height": HEIGHT - 22,  # where the page names its axis
        "left": chart.left,
        "right": chart.right,
        "top": chart.top,
        "bottom": chart.bottom,
        "x_ticks": [*map(_tick, chart.x_ticks)],
        "y_ticks": [*map(_tick, chart.y_ticks)],
        "marker": chart.marker.at if chart.marker else None,
        "lines": [
            {"kind": line.kind, "pieces": [*map(_points, line.pieces)], "dots": [*map(list, line.dots)]}
            for line in chart.lines
        ],
    }


def _tick(tick: Tick) -> Mapping[str, Any]:
    return {"at": tick.at, "label": str(tick.label)}


def _points(piece: str) -> list[list[float]]:
    return [[float(part) for part in point.split(",")] for point in piece.split()]
