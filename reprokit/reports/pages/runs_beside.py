"""Runs side by side, as a page and as JSON.

Every ``found`` is a ``harness`` answer, ``Beside``, and every field one of its ``Field``.
"""

from __future__ import annotations

import math
import string
from collections.abc import Iterator, Sequence
from typing import Any

from reprokit.core.comparison import to_json
from reprokit.reports.tables import shown, table
from reprokit.reports.terminal.diff_to_terminal import headline

_SHOWN = 24
_CELL = 40
_SIGNS = {"yes": "can change numbers", "maybe": "may change numbers", "no": "", "": ""}


def page(found: Any, *, show_all: bool) -> str:
    """The runs as tables, one column a run; what is equal in all only on request."""
    names = labels(found)
    lines = [
        f"{name}  {shown(folder, limit=1000)}" for name, folder in zip(names, found.folders, strict=True)
    ]
    for title in ("Configuration", "Source", "Environment"):
        lines += ["", *_section(title, getattr(found, title.lower()), names, show_all=show_all)]
    lines += _cut([f"  {shown(line)}" for line in found.diffs], show_all=show_all)
    lines += ["", *_metrics(found, names, show_all=show_all)]
    return "\n".join(lines)


def to_data(found: Any) -> dict[str, Any]:
    """The same for ``--json``, whole; NaN and infinities are words there."""

    def fields(those: Sequence[Any]) -> list[dict[str, Any]]:
        return [
            {"field": one.name, "values": [_strict(value) for value in one.values], "differs": one.differs}
            | ({"can_change_numbers": one.can_change_numbers} if one.can_change_numbers else {})
            for one in those
        ]

    return {
        "runs": [str(folder) for folder in found.folders],
        "warnings": list(found.warnings),
        "configuration": fields(found.configuration),
        "source": fields(found.source),
        "source_diff": list(found.diffs),
        "environment": fields(found.environment),
        "metrics": fields(found.metrics),
        "comparisons": [to_json(comparison) for comparison in found.comparisons],
    }


def labels(found: Any) -> list[str]:
    """``A``, ``B``, …; numbers where letters run out."""
    letters, count = string.ascii_uppercase, len(found.folders)
    return list(letters[:count]) if count <= len(letters) else [str(at + 1) for at in range(count)]


def curve_labels(found: Any) -> list[str]:
    """What each run is called in a picture: its letter and its folder's name."""
    return [f"{name} {folder.name}" for name, folder in zip(labels(found), found.folders, strict=True)]


def _section(title: str, fields: Sequence[Any], names: Sequence[str], *, show_all: bool) -> Iterator[str]:
    differing = [field for field in fields if field.differs]
    yield f"{title}: {_count(len(differing), 'difference')}"
    signs = any(_SIGNS[one.can_change_numbers] for one in differing)
    rows = [
        {"": one.name, **dict(zip(names, map(_cell, one.values), strict=True))}
        | ({" ": _SIGNS[one.can_change_numbers]} if signs else {})
        for one in (fields if show_all else differing)
    ]
    yield from _cut([f"  {line}" for line in table(rows)], show_all=show_all)


def _metrics(found: Any, names: Sequence[str], *, show_all: bool) -> Iterator[str]:
    yield "Metrics"
    for name, one in zip(names[1:], found.comparisons, strict=True):
        yield f"  {names[0]} and {name}: {headline(one)}"
    rows = []
    for field in found.metrics:
        summaries = [comparison.per_metric.get(field.name) for comparison in found.comparisons]
        if (
            show_all
            or field.differs
            or any(summary is not None and summary.mismatches for summary in summaries)
        ):
            errors = {
                f"max error {name}": None if one is None else _cell(one.max_abs_error)
                for name, one in zip(names[1:], summaries, strict=True)
            }
            last = dict(zip((f"last {name}" for name in names), map(_cell, field.values), strict=True))
            rows.append({"": field.name, **last, **errors})
    yield from _cut([f"  {line}" for line in table(rows)], show_all=show_all)


def _cut(lines: Sequence[str], *, show_all: bool) -> list[str]:
    if show_all or len(lines) <= _SHOWN + 1:
        return list(lines)
    return [*lines[:_SHOWN], f"  … and {len(lines) - _SHOWN} more lines (--all)"]


def _cell(value: Any) -> str:
    text = (
        " ".join(map(str, value)) if isinstance(value, list | tuple) else str("" if value is None else value)
    )
    return text if len(text) <= _CELL else f"{text[: _CELL - 1]}…"


def _strict(value: Any) -> Any:
    """A value that strict JSON has: NaN and infinities as words."""
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _count(number: int, word: str) -> str:
    return f"{number or 'no'} {word}{'' if number == 1 else 's'}"
