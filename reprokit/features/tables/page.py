"""What tables hold, and how they differ, as lines and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from reprokit.reports.escaping import one_line

if TYPE_CHECKING:
    from reprokit.data import Overlaps
    from reprokit.features.tables.manifest import Column, DataManifest
    from reprokit.features.tables.row_diff import RowDiff

_MOST_SHOWN = 20
_MOST_CHARACTERS = 60


def manifest_lines(manifests: Mapping[str, DataManifest]) -> Iterator[str]:
    """A table and its columns, one a line."""
    for name, found in manifests.items():
        (file,) = found.files.values()
        row = f"{name}: {found.num_rows:,} rows, {found.duplicates:,} duplicates"
        yield one_line(f"{row}, {file['bytes']:,} bytes, {file['sha256']}")
        for column, what in found.columns.items():
            yield one_line(f"  {column}  {_column(what)}")
        for counted, value in found.statistics.items():
            yield one_line(f"  {counted.replace('_', ' ')}: {_statistic(value)}")


def _statistic(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name!r} {count:,}" for name, count in value.items())
    return f"{value:,}" if isinstance(value, int) else str(value)


def _column(column: Column) -> str:
    parts = [column.kind, f"{column.missing:,} missing"]
    if column.mean is not None:
        deviation = "" if column.deviation is None else f" ± {column.deviation:.6g}"
        parts.append(f"mean {column.mean:.6g}{deviation}, {column.minimum:.6g} to {column.maximum:.6g}")
    if column.classes and len(column.classes) <= _MOST_SHOWN:
        parts.append(
            "classes " + ", ".join(f"{_short(value)}: {count:,}" for value, count in column.classes.items())
        )
    elif column.distinct is not None:
        parts.append(f"{column.distinct:,} distinct values")
    return ", ".join(parts)


def _short(value: str) -> str:
    """A value as a class is named: its beginning, and how much more there is."""
    more = len(value) - _MOST_CHARACTERS
    return value if more <= 0 else f"{value[:_MOST_CHARACTERS]}… ({more:,} more characters)"


def diff_lines(found: RowDiff) -> Iterator[str]:
    """How many rows came, went and changed, and the first of each with their lines."""
    counts = f"{len(found.came):,} came, {len(found.went):,} went, {len(found.changed):,} changed"
    order = "; the same rows in another order" if found.is_reordered else ""
    yield f"{found.num_before:,} → {found.num_after:,} rows: {counts}{order}"
    for sign, rows in (("+", found.came), ("-", found.went)):
        for row in rows[:_MOST_SHOWN]:
            yield one_line(f"  {sign} line {row.line}: {dict(row.values)}")
    for change in found.changed[:_MOST_SHOWN]:
        what = ", ".join(f"{name} {before!r} → {after!r}" for name, (before, after) in change.columns.items())
        yield one_line(f"  ~ {change.key} lines {change.line_before} → {change.line_after}: {what}")


def overlap_lines(found: Overlaps) -> Iterator[str]:
    """How many rows stand in more than one table, and the first of them with their lines."""
    yield f"{found.num_rows:,} rows compared: {found.num_duplicates:,} stand in an earlier table too"
    for name, line, first, before in found.first:
        yield one_line(f"  {name}:{line} is {first}:{before}")


def overlap_data(found: Overlaps) -> Mapping[str, Any]:
    """The same for machines."""
    return {
        "rows": found.num_rows,
        "duplicates": found.num_duplicates,
        "first": [
            {"table": name, "line": line, "earlier_table": first, "earlier_line": before}
            for name, line, first, before in found.first
        ],
    }


def diff_data(found: RowDiff) -> Mapping[str, Any]:
    """The same for machines, with every row."""
    return {
        "identical": found.same_rows and not found.is_reordered,
        "same_rows": found.same_rows,
        "rows_before": found.num_before,
        "rows_after": found.num_after,
        "came": [{"line": row.line, "values": dict(row.values)} for row in found.came],
        "went": [{"line": row.line, "values": dict(row.values)} for row in found.went],
        "changed": [
            {
                "key": one.key,
                "line_before": one.line_before,
                "line_after": one.line_after,
                "columns": {
                    name: {"before": pair[0], "after": pair[1]} for name, pair in one.columns.items()
                },
            }
            for one in found.changed
        ],
    }
