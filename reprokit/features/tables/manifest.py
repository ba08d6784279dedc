"""A data set as a manifest: its file's digest, its rows, its columns, and what they hold.

>>> manifest_of(Path("train.csv"), label="species").columns["species"].classes
{'Adelie': 152, 'Chinstrap': 68, 'Gentoo': 124}
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from reprokit.core.records import SCHEMA_VERSION, digest
from reprokit.data import texts, tokens
from reprokit.data.folders import digest_and_size
from reprokit.data.tables import form_of, kind_of, rows
from reprokit.errors import UsageError

#: What counts as a missing value of a CSV file, whatever the case.
_MISSING = frozenset({"", "na", "nan", "null", "none", "n/a"})
_MOST_CLASSES = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """What one column holds.

    Attributes:
        kind: ``number``, ``text``, ``boolean``, ``structure``, ``mixed``, or ``empty``.
        missing: Rows without a value.
        mean: Of the numbers, as the rest; None where there is none.
        deviation: Standard deviation of the sample.
        distinct: Distinct values, counted up to 100; None above.
        classes: Value → rows, of a column with at most 100 distinct values.
    """

    kind: str
    missing: int
    mean: float | None = None
    deviation: float | None = None
    minimum: float | None = None
    maximum: float | None = None
    distinct: int | None = None
    classes: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class DataManifest:
    """One version of a data set; ``version`` is the digest of its files' digests.

    Attributes:
        duplicates: Rows that stand there already.
        statistics: Of texts, their characters; of tokens, how many and which numbers; else {}.
    """

    version: str
    files: dict[str, dict[str, Any]]
    num_rows: int
    duplicates: int
    columns: dict[str, Column]
    statistics: dict[str, Any] = field(default_factory=dict)
    schema: int = SCHEMA_VERSION

    def as_data(self) -> dict[str, Any]:
        return asdict(self)


def manifest_of(paths: Sequence[Path], *, form: str = "", names: Sequence[str] = ()) -> DataManifest:
    """What tables hold together, each read once.

    Args:
        paths: The files, all of the same columns.
        form: Their format; by their names where it is "".
        names: What they are called in the manifest; the names of the files where none are given.

    Raises:
        UsageError: A file is no table, or has other columns than the first one.
    """
    called = list(names) or [path.name for path in paths]
    files, summaries = {}, {}
    seen: set[str] = set()
    gauge = _gauge(kind_of(form or form_of(paths[0]))) if paths else None
    num_rows = 0
    for name, path in zip(called, paths, strict=True):
        files[name] = digest_and_size(path)
        for row in rows(path, form=form):
            num_rows += 1
            seen.add(row.thing())
            if gauge is not None:
                gauge.add(row.values)
            if num_rows == 1:
                summaries = {column: _Summary() for column in row.values}
            if form != "jsonl" and path.suffix != ".jsonl" and row.values.keys() != summaries.keys():
                raise UsageError("columns different from those of the first file", where=f"{path}:1")
            for column in row.values.keys() - summaries.keys():
                summaries[column] = _Summary(missing=num_rows - 1)
            for column, summary in summaries.items():
                summary.add(row.values.get(column))
    return DataManifest(
        version=digest({name: one["sha256"] for name, one in files.items()}),
        files=files,
        num_rows=num_rows,
        duplicates=num_rows - len(seen),
        columns={name: summary.column() for name, summary in sorted(summaries.items())},
        statistics={} if gauge is None else gauge.as_data(),
    )


def _gauge(kind: str) -> texts.Characters | tokens.Bounds | None:
    if kind in {texts.LINES, texts.DOCUMENTS}:
        return texts.Characters()
    return tokens.Bounds() if kind == tokens.FORM else None


class _Summary:
    """One column, row by row; mean and deviation by Welford's method, which keeps their digits."""

    def __init__(self, *, missing: int = 0) -> None:
        self._missing = missing
        self._kinds: set[str] = set()
        self._counts: Counter[str] | None = Counter()
        self._num = 0
        self._mean = self._squares = 0.0
        self._least, self._most = math.inf, -math.inf

    def add(self, value: Any) -> None:
        if value is None or (isinstance(value, str) and value.strip().lower() in _MISSING):
            self._missing += 1
            return
        number = _number(value)
        self._kinds.add("number" if number is not None else _kind(value))
        if number is not None:
            self._add_number(number)
        if self._counts is not None:
            self._counts[value if isinstance(value, str) else repr(value)] += 1
            if len(self._counts) > _MOST_CLASSES:
                self._counts = None

    def _add_number(self, number: float) -> None:
        self._num += 1
        off = number - self._mean
        self._mean += off / self._num
        self._squares += off * (number - self._mean)
        self._least, self._most = min(self._least, number), max(self._most, number)

    def column(self) -> Column:
        kind = next(iter(self._kinds)) if len(self._kinds) == 1 else "mixed" if self._kinds else "empty"
        has_numbers = kind == "number"
        deviation = math.sqrt(self._squares / (self._num - 1)) if has_numbers and self._num > 1 else None
        return Column(
            kind=kind,
            missing=self._missing,
            mean=self._mean if has_numbers else None,
            deviation=deviation,
            minimum=self._least if has_numbers else None,
            maximum=self._most if has_numbers else None,
            distinct=None if self._counts is None else len(self._counts),
            classes=_sorted(self._counts.items()) if self._counts else {},
        )


def _sorted(counts: Iterable[tuple[str, int]]) -> dict[str, int]:
    return dict(sorted(counts))


def _number(value: Any) -> float | None:
    """A number, or the text of one; None for all else and for what no float holds."""
    if isinstance(value, bool) or not isinstance(value, int | float | str) or "_" in str(value):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    return "text" if isinstance(value, str) else "structure"
