"""Every report of a folder as one page: newest first, with a field that searches and lists that filter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote

from reprokit.core.checklist import Verdict, exit_code
from reprokit.core.verdicts.rows import counted
from reprokit.reports.escaping import Visible, one_line, shortened
from reprokit.reports.formats import report_content
from reprokit.reports.formats.to_html import WITH_TABLES, page

MOST_ROWS = 500
_ANSWERS = {"equal": "good", "different": "bad"}


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexEntry:
    """One report; every text comes from a file that anyone may have written.

    Attributes:
        verdict: Its verdict, or the answer of a comparison.
        created_at: UTC, which sorts; "" when no one knows.
        place: Path of its page from the folder of the index.
        problem: Why it cannot be read, or "".
    """

    recipe: str
    verdict: str
    created_at: str
    place: str
    sentence: str = ""
    about: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """An entry, ready to be drawn."""

    moment: Visible
    recipe: Visible
    about: Visible
    word: Visible
    tone: str
    sentence: Visible
    link: str


def index_to_html(entries: Sequence[IndexEntry]) -> str:
    """The reports as a self-contained HTML 5 page with links to theirs; from equal entries equal bytes."""
    ordered = sorted(entries, key=lambda one: (one.created_at, one.place), reverse=True)
    newest = {one.recipe: one for one in reversed(ordered) if one.created_at}
    passing = sum(tone_of(one) == "good" for one in newest.values())
    return page(
        "index.html.jinja",
        scripts=WITH_TABLES,
        title=Visible(counted(len(ordered), "report")),
        sentence=Visible(f"The newest report passed for {passing:,} of {counted(len(newest), 'recipe')}."),
        rows=[_row(one) for one in ordered[:MOST_ROWS]],
        num_cut=max(0, len(ordered) - MOST_ROWS),
    )


def tone_of(entry: IndexEntry) -> str:
    """``good``, ``bad``, ``plain`` or ``unknown``, as on the page of the report itself."""
    if entry.verdict not in set(Verdict):
        return _ANSWERS.get(entry.verdict, "unknown")
    verdict = Verdict(entry.verdict)
    return report_content.tone_of(verdict, exit_code(verdict))


def address_of(place: str) -> str:
    """A path as the address of a link, which is never read as a scheme."""
    return f"./{quote(place, errors='replace')}"


def _row(entry: IndexEntry) -> _Row:
    return _Row(
        moment=one_line(entry.created_at.replace("T", " ").replace("Z", " UTC") or "unknown"),
        recipe=one_line(entry.recipe, limit=200),
        about=one_line(entry.about, limit=200),
        word=shortened("NOT READABLE" if entry.problem else entry.verdict, width=24),
        tone="unknown" if entry.problem else tone_of(entry),
        sentence=one_line(entry.problem or entry.sentence, limit=600),
        link=address_of(entry.place),
    )
