"""Sections that extensions write into reports: plain text, shown as theirs, after the verdict is judged."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from reprokit.core.checklist import Verdict
from reprokit.core.evidence import Evidence
from reprokit.core.extension_record import ReportedExtension, ReportedSection, SectionTable
from reprokit.extensions.registry import at_work, brought_or_why
from reprokit.extensions.rows import JudgedRuns, judged_runs

_MOST_PARTS, _MOST_COLUMNS, _MOST_ROWS, _MOST_CHARACTERS = 50, 20, 500, 2_000
_CELLS = (str, int, float, bool, type(None))


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionContent:
    """What stands in a section.

    Attributes:
        paragraphs: Plain text each, of one line; they come first.
        tables: Their cells are text, numbers, true, false or None.

    >>> SectionContent(paragraphs=["All on one node."]).tables
    ()
    """

    paragraphs: Sequence[str] = ()
    tables: Sequence[SectionTable] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A section of reports that an extension brings.

    Attributes:
        title: Its heading, which follows the name of the extension.
        write: Its content, for the judged runs and their verdict; may raise, which the section then says.

    >>> section = Section(title="Nodes", write=lambda judged, verdict: SectionContent(paragraphs=["one"]))
    >>> section.title
    'Nodes'
    """

    title: str
    write: Callable[[JudgedRuns, Verdict], SectionContent]


def foreign_sections(evidence: Evidence, verdict: Verdict) -> tuple[ReportedSection, ...]:
    """The sections that the loaded extensions write about these runs."""
    return tuple(_written(evidence, verdict))


def named_beside(
    told: Sequence[ReportedExtension], sections: Sequence[ReportedSection]
) -> tuple[ReportedExtension, ...]:
    """The extensions of a report, with what their sections add to it."""
    return tuple(replace(one, beside=(*one.beside, *_clauses(one, sections))) for one in told)


def _clauses(one: ReportedExtension, sections: Sequence[ReportedSection]) -> Iterator[str]:
    for section in sections:
        if (section.extension, section.version) == (one.name, one.version):
            why = f" could not be written: {section.problem}" if section.problem else " was added"
            yield f"its section {section.name}{why}"


def _written(evidence: Evidence, verdict: Verdict) -> Iterator[ReportedSection]:
    for extension, name, section, why in brought_or_why("sections", form=Section):
        empty = ReportedSection(
            extension=extension.named.name,
            version=extension.named.version,
            name=name,
            title=str(section.title) if section else name,
            problem=f"it {why}" if why else "",
        )
        yield empty if why else _filled(empty, section, judged_runs(evidence), verdict)


def _filled(
    empty: ReportedSection, section: Section, judged: JudgedRuns, verdict: Verdict
) -> ReportedSection:
    try:
        with at_work():
            content: object = section.write(judged, verdict)
        problem = problem_of(content)
        if not isinstance(content, SectionContent) or problem:
            return replace(empty, problem=f"it is faulty: {problem}")
        return replace(
            empty, paragraphs=tuple(content.paragraphs), tables=tuple(map(_as_text, content.tables))
        )
    except (Exception, SystemExit) as error:  # of others: whatever it raises, the report is made
        return replace(empty, problem=f"it is faulty: {type(error).__name__}: {error}")


def problem_of(content: object) -> str:
    """Why this is nothing that a section may hold, a clause; "" where it is."""
    if not isinstance(content, SectionContent):
        return f"it gave a {type(content).__name__}, not a SectionContent"
    texts, tables = content.paragraphs, content.tables
    if isinstance(texts, str) or not all(isinstance(one, str) for one in texts):
        return "its paragraphs are not a sequence of texts"
    if not all(isinstance(one, SectionTable) for one in tables):
        return "its tables are not a sequence of SectionTable"
    if not texts and not tables:
        return "it gave nothing to show"
    if len(texts) + len(tables) > _MOST_PARTS:
        return f"it has more than {_MOST_PARTS} paragraphs and tables"
    return next(filter(None, (*map(_problem_of_table, tables), _too_long(texts))), "")


def _problem_of_table(table: SectionTable) -> str:
    rows: list[Any] = [table.head, *table.rows]  # of others: no type is certain
    if any(isinstance(row, str) or len(row) != len(table.head) for row in rows) or not table.head:
        return "a table has rows that are not as long as its head"
    if len(table.head) > _MOST_COLUMNS or len(table.rows) > _MOST_ROWS:
        return f"a table has more than {_MOST_COLUMNS} columns or {_MOST_ROWS} rows"
    cells = [cell for row in rows for cell in row]
    if any(type(cell) not in _CELLS for cell in cells):
        return "a cell of a table is not text, a number, true, false or None"
    return _too_long([cell for cell in cells if isinstance(cell, str)])


def _too_long(texts: Collection[str]) -> str:
    is_long = any(len(text) > _MOST_CHARACTERS for text in texts)
    return f"a text has more than {_MOST_CHARACTERS:,} characters" if is_long else ""


def _as_text(table: SectionTable) -> SectionTable:
    return SectionTable(
        head=tuple(map(_cell, table.head)), rows=tuple(tuple(map(_cell, row)) for row in table.rows)
    )


def _cell(value: object) -> str:
    return "" if value is None else str(value)
