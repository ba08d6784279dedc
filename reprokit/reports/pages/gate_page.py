"""What `reprokit verify` said of every recipe, as one page: a row a recipe, those that did not pass first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reprokit.core.checklist import Report
from reprokit.core.verdicts.rows import counted
from reprokit.reports.charts.curves import Chart, charts_of
from reprokit.reports.escaping import Visible, one_line
from reprokit.reports.formats.report_content import outline
from reprokit.reports.formats.to_html import page
from reprokit.reports.pages.index_page import IndexEntry, address_of, tone_of
from reprokit.reports.pages.next_steps import NextStep
from reprokit.reports.pages.report_page import steps_of

_TONES = {0: "good", 1: "bad"}
_MOST_EARLIER = 20
_LEFT_OUT = "LEFT OUT"


@dataclass(frozen=True, slots=True, kw_only=True)
class GateEntry:
    """One recipe and seed: a report, or an error, or why it was left out.

    Attributes:
        place: Path of the report's page from the folder of this page.
        earlier: Reports of the same recipe, seed and platform before this one, with their places likewise.
    """

    recipe: str
    exit_code: int
    report: Report | None = None
    place: str = ""
    error: str = ""
    left_out: str = ""
    earlier: tuple[IndexEntry, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Earlier:
    """An earlier report of the same recipe, in one sign."""

    tone: str
    told: Visible
    link: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """An entry, ready to be drawn."""

    word: Visible
    tone: str
    recipe: Visible
    about: Visible
    sentence: Visible
    steps: tuple[NextStep, ...] = ()
    link: str = ""
    earlier: tuple[_Earlier, ...] = ()
    curve: Chart | None = None


def gate_to_html(entries: Sequence[GateEntry], *, exit_code: int) -> str:
    """The answers of a gate as a self-contained HTML 5 page with links to the reports next to it."""
    passed = sum(one.exit_code == 0 and not one.left_out for one in entries)
    judged = sum(not one.left_out for one in entries)
    ordered = sorted(entries, key=lambda one: one.exit_code == 0)
    rows = [_row(one) for one in ordered]
    return page(
        "gate.html.jinja",
        tone=_TONES.get(exit_code, "unknown"),
        title=Visible(f"{passed:,} of {judged:,} passed" if judged else "Nothing was judged"),
        sentence=_sentence(rows, len(entries) - judged, exit_code),
        rows=rows,
    )


def _sentence(rows: Sequence[_Row], num_left_out: int, exit_code: int) -> Visible:
    words = Counter(row.word for row in rows if row.word != _LEFT_OUT)
    counts = ", ".join(f"{count:,} {word}" for word, count in words.items())
    left_out = (
        f" {counted(num_left_out, 'recipe')} left out: its numbers cannot have moved." if num_left_out else ""
    )
    return Visible(f"{counts}{'.' if counts else ''} Exit code {exit_code}.{left_out}".strip())


def _row(entry: GateEntry) -> _Row:
    name, earlier = one_line(entry.recipe), _earlier(entry)
    if entry.report is None:
        word, tone = (_LEFT_OUT, "plain") if entry.left_out else ("ERROR", "bad")
        why = one_line(entry.left_out or entry.error)
        return _Row(
            word=Visible(word), tone=tone, recipe=name, about=Visible(""), sentence=why, earlier=earlier
        )
    found = outline(entry.report)
    return _Row(
        word=Visible(found.verdict.value),
        tone=found.tone,
        recipe=name,
        about=Visible(f"{found.platform}, seed {found.seed}"),
        sentence=found.sentence,
        steps=steps_of(found),
        link=address_of(entry.place) if entry.place else "",
        earlier=earlier,
        curve=_curve(entry.report),
    )


def _earlier(entry: GateEntry) -> tuple[_Earlier, ...]:
    """The newest of the earlier reports, oldest first."""
    ordered = sorted(entry.earlier, key=lambda one: (one.created_at, one.place))[-_MOST_EARLIER:]
    return tuple(
        _Earlier(
            tone=tone_of(one),
            told=one_line(f"{one.verdict}, {one.created_at[:10]}", limit=80),
            link=address_of(one.place),
        )
        for one in ordered
    )


def _curve(report: Report) -> Chart | None:
    """The curve of a metric that an ensemble judged, else of the one that differs first, or that has one."""
    diverged = report.divergence.metric if report.divergence else None
    margins = (report.statistical or {}).get("margins")
    judged = {str(name).partition(" (")[0] for name in margins} if isinstance(margins, Mapping) else set()
    names = sorted(report.curves, key=lambda name: (name not in judged, name != diverged))
    for name in names:
        if shown := charts_of({name: report.curves[name]}, None).shown:
            return shown[0]
    return None
