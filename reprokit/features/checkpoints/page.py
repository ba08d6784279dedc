"""Checkpoints as lines: whether they are whole, what one holds, and what differs between two.

All of it comes from files that anyone may have written, and is escaped first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reprokit.reports.escaping import Visible, one_line

if TYPE_CHECKING:
    from reprokit.checkpoints import CheckpointDifference, Tensor

_MOST = 40
_LIMIT = 400
_NUMBERED = re.compile(r"(\.(\d+|__tuple__))+$")
_LOADED = {True: "loaded inside its environment", False: "did not load", None: "loading was not tried"}


def verified_lines(found: Sequence[Any]) -> Iterator[Visible]:
    """Whether each checkpoint (``Verified``) is whole, and what is missing."""
    for one in found:
        word = "refused" if one.refused else "not whole" if one.problems else "whole"
        yield _line(f"{word:9}  {one.path.name:24} {one.num_tensors:4} tensors  {_LOADED[one.proven]}")
        for text in (*one.problems, *([one.note] if one.note else [])):
            yield _line(f"           {text}")


def verified_data(one: Any) -> dict[str, Any]:
    """The same of one checkpoint, for ``--json``."""
    return {
        "file": str(one.path),
        "step": one.step,
        "num_tensors": one.num_tensors,
        "loaded": one.proven,
        "problems": list(one.problems),
        "refused": one.refused,
        "note": one.note,
    }


def content_lines(
    path: Path, *, content: str, tensors: Mapping[str, Tensor], values: Sequence[tuple[str, Any]]
) -> Iterator[Visible]:
    """What a checkpoint holds: the digest of its content, tensors by name, other values by group."""
    yield _line(str(path))
    yield _line(f"content {content}")
    for name, one in tensors.items():
        yield _line(f"  {name:44} {one.dtype:8} {list(one.shape)}")
    groups: dict[str, list[Any]] = {}
    for name, value in values:
        groups.setdefault(_NUMBERED.sub("", name), []).append(value)
    for name, held in groups.items():
        text = f"{held[0]!r:.40}" if len(held) == 1 else f"{len(held)} values"
        yield _line(f"  {name:44} {text}")


def difference_lines(paths: Sequence[Path], found: Sequence[CheckpointDifference]) -> Iterator[Visible]:
    """Which values differ, where, and by how much; one line for the values of one list."""
    yield _line(f"expected {paths[0]}")
    yield _line(f"actual   {paths[1]}")
    if not found:
        yield _line("identical: every value, bit for bit")
        return
    groups: dict[str, list[CheckpointDifference]] = {}
    for one in found:
        groups.setdefault(one.name if one.index is not None else _NUMBERED.sub("", one.name), []).append(one)
    for name, members in list(groups.items())[:_MOST]:
        more = f"; {len(members)} values differ" if len(members) > 1 else ""
        yield _line(f"  {name:44} {_difference_text(members[0])}{more}")
    if len(groups) > _MOST:
        yield _line(f"  … and {len(groups) - _MOST} more; --json has them all")


def converted_lines(found: Any) -> Iterator[Visible]:
    """The result of writing a checkpoint in another format (``Converted``)."""
    yield _line(f"{found.source}")
    yield _line(f"→ {found.target}")
    yield _line(f"{found.num_tensors} tensors and every other value, bit for bit; content {found.content}")
    yield from (_line(f"  {text}") for text in found.changes)
    yield from (_line(f"  cannot be resumed from: {text}") for text in found.lacking)


def _difference_text(one: CheckpointDifference) -> str:
    sides = f"{one.actual!r:.40}, expected {one.expected!r:.40}"
    if one.index is None:
        return sides if one.what == "values" else f"{one.what}: {sides}"
    apart = "" if one.max_ulps is None else f", at most {one.max_ulps:,} ULP apart"
    return f"{one.num_different} of {one.num_values} differ{apart}; first at {list(one.index)}: {sides}"


def _line(text: str) -> Visible:
    return one_line(text, limit=_LIMIT)
