"""What recipes read and what of it is on this machine, as lines and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from reprokit.redaction import redact_text
from reprokit.reports.escaping import one_line

if TYPE_CHECKING:
    from reprokit.data import Column, DataManifest, Overlaps, RowDiff, SourceState
    from reprokit.data.preparation import PreparedData

_MOST_SHOWN = 20
_MOST_CHARACTERS = 60


def state_lines(found: Iterable[tuple[str, SourceState]]) -> Iterator[str]:
    """One file: recipe, name, state, size, digest; what is wrong with it, with the line that declares it."""
    for recipe, state in found:
        source = state.source
        row = f"{recipe}  {source.name}  {state.status}  {source.num_bytes:,} bytes  {source.sha256}"
        yield one_line(row)
        if state.problem:
            yield one_line(f"  {source.where}: {state.problem}")


def state_rows(found: Iterable[tuple[str, SourceState]]) -> list[Mapping[str, Any]]:
    """The same for machines."""
    return [
        {
            "recipe": recipe,
            "name": state.source.name,
            "status": str(state.status),
            "problem": state.problem,
            "sha256": state.source.sha256,
            "size": state.source.num_bytes,
            "unpack": state.source.unpack,
            "form": state.source.form or None,
            "licence": state.source.licence or None,
            "redistribute": state.source.redistribute,
            "places": [redact_text(place) for place in state.source.places],
            "path": str(state.path),
            "declared_at": state.source.where,
        }
        for recipe, state in found
    ]


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


class _Step(Protocol):
    """A step of a preparation, and what came of it."""

    @property
    def prepared(self) -> PreparedData: ...
    @property
    def made_now(self) -> bool: ...
    @property
    def problem(self) -> str: ...


def step_lines(found: Iterable[_Step]) -> Iterator[str]:
    """A line a file that a step made; what is wrong with it."""
    for one in found:
        made, step = one.prepared, one.prepared.inputs.step
        how = "twice, equal to the byte" if made.is_repeated else "once" if made.preparations < 2 else "twice"
        when = f"prepared {how}" if one.made_now else f"prepared before, {how}"
        for name, output in made.outputs.items():
            yield one_line(f"{step}  {name}  {when}  {output['bytes']:,} bytes  {output['sha256']}")
        if one.problem:
            yield one_line(f"  {one.problem}")


def step_rows(found: Iterable[_Step]) -> list[Mapping[str, Any]]:
    """The same for machines."""
    return [
        {**one.prepared.as_data(), "made_now": one.made_now, "problem": one.problem or None} for one in found
    ]


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
