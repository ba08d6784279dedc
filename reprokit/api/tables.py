"""A record as a table: for pandas, for polars, and for a notebook."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from reprokit.errors import MissingExtraError

_MOST_ROWS = 20
_COLOURS = {"good": "#1a7f37", "bad": "#cf222e", "odd": "#9a6700"}


class Tabular(ABC):
    """A record that is also a table; a notebook shows its headline and its first rows."""

    @abstractmethod
    def rows_of_table(self) -> Sequence[Mapping[str, Any]]:
        """The table: a mapping of column → value for each row."""

    def headline(self) -> tuple[str, str, str]:
        """What stands first in a notebook: a word, ``good``, ``bad`` or ``odd``, and a sentence."""
        return type(self).__name__, "odd", ""

    def to_pandas(self) -> Any:
        """The table as a ``pandas.DataFrame``.

        Raises:
            MissingExtraError: pandas is not installed.
        """
        return _library("pandas").DataFrame(list(self.rows_of_table()))

    def to_polars(self) -> Any:
        """The table as a ``polars.DataFrame``; the types of columns follow from all rows.

        Raises:
            MissingExtraError: polars is not installed.
        """
        rows = [dict(row) for row in self.rows_of_table()]
        return _library("polars").DataFrame(rows, infer_schema_length=None, strict=False)

    def _repr_html_(self) -> str:
        word, tone, sentence = self.headline()
        return (
            f'<p><b style="color:{_COLOURS[tone]}">{escape(word)}</b> {escape(sentence)}</p>'
            f"{_html_table(self.rows_of_table())}"
        )


def _library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise MissingExtraError(f"{name} is not installed", fix=f"pip install {name}") from error


def _html_table(rows: Sequence[Mapping[str, Any]]) -> str:
    if not rows:
        return ""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    shown = (
        "<tr>" + "".join(f"<td>{escape(_cell(row.get(name)))}</td>" for name in columns) + "</tr>"
        for row in rows[:_MOST_ROWS]
    )
    more = f"<p>… and {len(rows) - _MOST_ROWS:,} more rows</p>" if len(rows) > _MOST_ROWS else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(shown)}</tbody></table>{more}"


def _cell(value: Any) -> str:
    return "" if value is None else str(value)
