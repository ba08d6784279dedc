"""What a report says of a mismatch with the golden beyond the verdict, as labels and values.

This module knows the shapes of ``code_changes`` and ``attribution``; it refuses to know formats.

    >>> explanations(report)[0][0]
    'Whose fault it is'
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reprokit.core.checklist import Report
from reprokit.reports.escaping import Visible, one_line
from reprokit.reports.values import Facts

_SHOWN = 20


def explanations(report: Report) -> tuple[tuple[Visible, Facts], ...]:
    """Title and facts of everything that explains a mismatch with the golden; what is empty is left out."""
    found = (
        (Visible("Whose fault it is"), _attribution(report.attribution or {})),
        (Visible("Code since the golden"), _code_changes(report.code_changes or {})),
    )
    return tuple((title, facts) for title, facts in found if facts)


def _code_changes(found: Mapping[str, Any]) -> Facts:
    """Files that the recipe stands on, changed since the golden's commit; or why that is not known."""
    if not found.get("commit"):
        return (_fact("not known", found["why"]),) if found.get("why") else ()
    files = found.get("files") or []
    rows = [_fact(file.get("path"), _lines(file)) for file in files[:_SHOWN]]
    if len(files) > len(rows):
        rows.append(_fact("more", f"{len(files) - len(rows):,} files in report.json"))
    return (_fact("golden's commit", found["commit"]), *(rows or [_fact("files", "none changed since")]))


def _lines(file: Mapping[str, Any]) -> str:
    if file.get("added") is None:
        return "new, not in git" if file.get("removed") == 0 else "not text"
    return f"+{file['added']} -{file['removed']} lines"


def _attribution(found: Mapping[str, Any]) -> Facts:
    """Label and value: whose code in whose environment gives the golden, and what follows."""
    if not found:
        return ()
    cells = [
        _fact(
            f"{cell.get('code')} code, {cell.get('environment')} environment",
            str(cell.get("result")) + (f": {cell['detail']}" if cell.get("detail") else ""),
        )
        for cell in found.get("cells") or ()
    ]
    return (_fact("answer", f"{found.get('answer')}: {found.get('sentence')}"), *cells)


def _fact(label: object, value: object) -> tuple[Visible, Visible]:
    return one_line(label), one_line(value)
