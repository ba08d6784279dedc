"""Runs laid side by side, as a page, as JSON, as a picture.

This module knows how they are shown; it refuses to know how they were compared.

    >>> print(page(found, show_all=False))
"""

from __future__ import annotations

import json
import string
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reprokit.cli.tables import shown, table

if TYPE_CHECKING:
    from reprokit.harness import Beside, Field

_SHOWN = 24
_CELL = 40
_SIGNS = {"yes": "can change numbers", "maybe": "may change numbers", "no": "", "": ""}


def page(found: Beside, *, show_all: bool) -> str:
    """The runs as tables, one column a run; what is equal in all only on request."""
    names = labels(found)
    lines = [
        f"{name}  {shown(folder, limit=1000)}" for name, folder in zip(names, found.folders, strict=True)
    ]
    for title, fields in (
        ("Configuration", found.configuration),
        ("Source", found.source),
        ("Environment", found.environment),
    ):
        lines += ["", *_section(title, fields, names, show_all=show_all)]
    lines += [*_cut([f"  {shown(line)}" for line in found.diffs], show_all=show_all)]
    lines += ["", *_metrics(found, names, show_all=show_all)]
    return "\n".join(lines)


def as_json(found: Beside) -> str:
    """The same as a JSON object, whole."""
    from reprokit.core.comparison import to_json

    def fields(those: Sequence[Field]) -> list[dict[str, Any]]:
        return [
            {"field": one.name, "values": [_plain(value) for value in one.values], "differs": one.differs}
            | ({"can_change_numbers": one.can_change_numbers} if one.can_change_numbers else {})
            for one in those
        ]

    answer = {
        "runs": [str(folder) for folder in found.folders],
        "warnings": list(found.warnings),
        "configuration": fields(found.configuration),
        "source": fields(found.source),
        "source_diff": list(found.diffs),
        "environment": fields(found.environment),
        "metrics": fields(found.metrics),
        "comparisons": [to_json(one) for one in found.comparisons],
    }
    return json.dumps(answer, indent=2, default=str)


def draw(found: Beside, file: Path, *, max_points: int) -> None:
    """The curves of all runs as one SVG picture, the metric that differs first in front."""
    from reprokit import harness, workspace
    from reprokit.core.comparison import to_json
    from reprokit.reports.diff_to_svg import diff_to_svg
    from reprokit.reports.diff_to_terminal import headline

    names = labels(found)
    told = [f"{name} {folder.name}" for name, folder in zip(names, found.folders, strict=True)]
    series = harness.curves(found.folders, labels=told, max_points=max_points)
    worst = next((one for one in found.comparisons if one.divergence), found.comparisons[0])
    picture = diff_to_svg(series, to_json(worst)["divergence"], title=headline(worst))
    workspace.write_atomic(file, picture.encode("utf-8"))


def labels(found: Beside) -> list[str]:
    """``A``, ``B``, …; numbers where letters run out."""
    letters = string.ascii_uppercase
    count = len(found.folders)
    return list(letters[:count]) if count <= len(letters) else [str(at + 1) for at in range(count)]


def _section(title: str, fields: Sequence[Field], names: Sequence[str], *, show_all: bool) -> Iterator[str]:
    differing = [one for one in fields if one.differs]
    yield f"{title}: {_count(len(differing), 'difference')}"
    signs = any(_SIGNS[one.can_change_numbers] for one in differing)
    rows = [
        {"": one.name, **dict(zip(names, map(_cell, one.values), strict=True))}
        | ({" ": _SIGNS[one.can_change_numbers]} if signs else {})
        for one in (fields if show_all else differing)
    ]
    yield from _cut([f"  {line}" for line in table(rows)], show_all=show_all)


def _metrics(found: Beside, names: Sequence[str], *, show_all: bool) -> Iterator[str]:
    from reprokit.reports.diff_to_terminal import headline

    yield "Metrics"
    for name, one in zip(names[1:], found.comparisons, strict=True):
        yield f"  {names[0]} and {name}: {headline(one)}"
    rows = []
    for field in found.metrics:
        summaries = [one.per_metric.get(field.name) for one in found.comparisons]
        if show_all or field.differs or any(one is not None and one.mismatches for one in summaries):
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
        " ".join(map(str, value)) if isinstance(value, list | tuple) else "" if value is None else str(value)
    )
    return text if len(text) <= _CELL else f"{text[: _CELL - 1]}…"


def _plain(value: Any) -> Any:
    """A value that strict JSON has: NaN and infinities as words."""
    is_odd = isinstance(value, float) and value - value != 0
    return str(value) if is_odd else value


def _count(number: int, word: str) -> str:
    return f"{number or 'no'} {word}{'' if number == 1 else 's'}"
