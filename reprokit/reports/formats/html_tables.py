"""Tables of an HTML page: cells that are safe to show, below the names of the columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reprokit.reports.escaping import Visible, one_line


@dataclass(frozen=True, slots=True, kw_only=True)
class HtmlTable:
    """Names of the columns, and the rows."""

    head: tuple[Visible, ...]
    rows: tuple[tuple[Visible, ...], ...]


def html_table(rows: Sequence[Sequence[object]]) -> HtmlTable:
    """A table whose first row has the names of the columns; None and "" are a dash."""
    head, *others = (tuple(map(_cell, row)) for row in rows)
    return HtmlTable(head=head, rows=tuple(others))


def _cell(value: object) -> Visible:
    return one_line("-" if value is None or value == "" else value)
