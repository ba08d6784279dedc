"""The answer of `reprokit bisect` as lines: the commit that changed the numbers, and how it was found."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reprokit.reports.tables import shown

_MOST_FILES = 10


def page_lines(found: Any) -> Iterator[str]:
    """Which commit of a ``Bisection``, what it changed, and the result of each tested commit."""
    if len(found.guilty) == 1:
        one = found.guilty[0]
        yield f"The numbers changed in {_commit_text(one)}"
        yield from (f"  {shown(setting)}" for setting in one.settings)
        for file in one.files[:_MOST_FILES]:
            counts = "not text" if file.added is None else f"+{file.added} -{file.removed} lines"
            yield f"  {shown(file.path)}  {counts}"
        yield f"Next: git show {one.commit[:12]}"
    else:
        yield "The numbers changed in one of these commits; some could not be run:"
        yield from (f"  {_commit_text(one)}" for one in found.guilty)
    trained = sum(one.trained for one in found.tested)
    yield f"{len(found.tested)} commits tested, {trained} of them trained:"
    for one in found.tested:
        detail = f"  ({shown(one.detail)})" if one.detail else ""
        yield f"  {one.result:<4}  {_commit_text(one)}{detail}"


def _commit_text(one: Any) -> str:
    return f"{one.commit[:12]}  {shown(one.subject)}"
