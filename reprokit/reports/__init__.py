"""Draw everything that people and machines read: pages of verbs, formats of a report, screens, charts.

``report.json`` is the truth: the other files of a report are drawn from it after reading it back. No module
named here loads jinja2 or pydantic before it draws.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

from reprokit import extras
from reprokit.layout import REPORT
from reprokit.reports.escaping import one_line
from reprokit.reports.tables import bytes_text, folded, shown, table

if TYPE_CHECKING:  # it loads numpy
    from reprokit.core.checklist import Report

PAGE = "report.html"
#: What stands there where no page can be drawn.
NO_PAGE = f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>No page</title></head>
<body><p>This page was not drawn: Jinja is not installed. The report is in report.md and report.json.</p>
<pre>{extras.install_line("html")}</pre></body></html>
"""

__all__ = [
    "NO_PAGE",
    "PAGE",
    "bytes_text",
    "data_page",
    "documents",
    "expectation",
    "folded",
    "gate_record",
    "machine_matrix",
    "one_line",
    "progress",
    "render_all",
    "shorten",
    "shown",
    "sweep_display",
    "sweep_table",
    "table",
]


def render_all(report: Report, folder: Path) -> None:
    """Write ``documents``, ``report.json`` last.

    All are on the disk before the first takes its name, so that a full disk leaves an earlier report as it
    was.

    Raises:
        ReportError: The report breaks its own schema; nothing was written.
        WorkspaceError: The folder cannot be written, or the disk is full.
    """
    import tempfile  # noqa: PLC0415  (small verbs that only print load none of these)

    from reprokit import workspace  # noqa: PLC0415

    texts = documents(report)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise workspace.cannot_write(folder, error) from error
    try:
        with tempfile.TemporaryDirectory(dir=folder, prefix=".drawing-") as staging:
            for name, text in texts.items():
                workspace.write_atomic(Path(staging) / name, text.encode("utf-8"))
            for name in texts:
                (Path(staging) / name).replace(folder / name)
    except OSError as error:
        raise workspace.cannot_write(folder, error) from error
    finally:
        with contextlib.suppress(OSError):  # an empty folder is no report; any other stays
            folder.rmdir()


def documents(report: Report) -> dict[str, str]:
    """The files of a report folder: name → text, the same text for the same report every time.

    Without Jinja, which is an extra, ``report.html`` says no more than that.

    Raises:
        ReportError: The report breaks its own schema.
    """
    from reprokit.reports.formats import to_html, to_json, to_junit, to_markdown  # noqa: PLC0415  (jinja2)

    truth = to_json.to_json(report)
    read_back = to_json.from_json(truth)
    page = to_html.to_html(read_back) if extras.is_installed("jinja2") else NO_PAGE
    return {
        "report.md": to_markdown.to_markdown(read_back),
        PAGE: page,
        "junit.xml": to_junit.to_junit(read_back),
        REPORT: truth,
    }
