"""``index.html`` of a folder of reports: written with each report, for people; nothing is judged by it."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reprokit import extras
from reprokit.core.checklist import Report
from reprokit.errors import WorkspaceError
from reprokit.layout import COMPARISON, COMPARISONS, REPORT
from reprokit.regular_file import read_regular
from reprokit.reports import PAGE
from reprokit.runs import listing
from reprokit.runs.reading import files_two_below
from reprokit.workspace import in_turn, write_atomic

if TYPE_CHECKING:
    from reprokit.reports.pages.index_page import IndexEntry

INDEX = "index.html"
_OURS = b'<meta name="generator" content="index by reprokit">'
_WAIT_S = 10.0


def write_index(reports_dir: Path) -> None:
    """Write the index again, from what is in the folder now.

    One after the other, so that of two commands that end at one time the later writes both reports. A page of
    someone else under this name stays. What keeps it from being written changes no answer.
    """
    if not extras.is_installed("jinja2"):
        return
    from reprokit.reports.pages.index_page import index_to_html  # noqa: PLC0415  (small runs draw no page)

    try:
        with in_turn(reports_dir, wait_s=_WAIT_S):
            if _is_ours(reports_dir / INDEX):
                text = index_to_html(
                    [*(entry for _, entry in _noted(reports_dir)), *_comparisons(reports_dir)]
                )
                write_atomic(reports_dir / INDEX, text.encode("utf-8"))
    except (WorkspaceError, OSError):
        return


def earlier_reports(reports_dir: Path, report: Report, *, own: Path, folder: Path) -> list[IndexEntry]:
    """The reports of the same recipe, seed and platform that were made before one.

    Args:
        reports_dir: Where they are.
        report: The one.
        own: Its folder.
        folder: From where the pages are named.
    """
    moment = listing.moment_of(report.created_at)
    return [
        replace(entry, place=os.path.relpath(reports_dir / entry.place, folder))
        for note, entry in _noted(reports_dir)
        if (note.recipe, note.seed, note.platform) == (own.parent.name, report.seed, report.platform)
        and Path(note.path).parent != own
        and note.created_at <= moment
        and not note.problem
    ]


def _is_ours(file: Path) -> bool:
    """Whether there is no such file, or one that this module wrote."""
    try:
        return _OURS in read_regular(file)
    except FileNotFoundError:
        return True


def _noted(reports_dir: Path) -> Iterator[tuple[listing.ReportNote, IndexEntry]]:
    from reprokit.reports.pages.index_page import IndexEntry  # noqa: PLC0415

    for note in listing.report_notes(reports_dir, now_ns=time.time_ns()):
        folder = Path(note.path.removesuffix(REPORT))
        yield (
            note,
            IndexEntry(
                recipe=note.recipe,
                verdict=note.verdict,
                created_at=note.created_at,
                place=f"{note.recipe}/{folder.name}/{PAGE}",
                sentence=note.sentence,
                about=", ".join(
                    filter(None, (note.platform, "" if note.seed is None else f"seed {note.seed}"))
                ),
                problem=note.problem,
            ),
        )


def _comparisons(reports_dir: Path) -> Iterator[IndexEntry]:
    from reprokit.reports.pages.index_page import IndexEntry  # noqa: PLC0415

    for name, moment, folder in files_two_below(reports_dir / COMPARISONS, COMPARISON):
        found = _read(Path(folder) / COMPARISON)
        told = found.get("answer")
        answer = told if isinstance(told, dict) else {}
        yield IndexEntry(
            recipe=name,
            verdict=str(answer.get("answer") or "not run"),
            created_at=listing.moment_of(found.get("created_at")),
            place=f"{COMPARISONS}/{name}/{moment}/{PAGE}",
            sentence=str(answer.get("sentence") or ""),
            about="comparison",
            problem="" if answer else "it cannot be read",
        )


def _read(file: Path) -> dict[str, Any]:
    try:
        found = json.loads(read_regular(file))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
