"""What is said of a report that another version of the tool made, where its words differ."""

from __future__ import annotations

from collections.abc import Sequence

from reprokit.reports.escaping import one_line


def not_checked_lines(made_by: str, not_checked: Sequence[str]) -> tuple[str, ...]:
    """What is said of a report that another version made, line by line; none where nothing differs."""
    if not not_checked:
        return ()
    first = f"Made by {one_line(made_by)}. What this version says differently was not checked:"
    return (first, *(f"  - {one_line(one)}" for one in not_checked))
