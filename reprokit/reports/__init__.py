"""Reports for people and machines: one ``Report`` in, one text a format out.

This package knows formats; it refuses to judge. ``report.json`` is the truth: the other files are
drawn from what reading it back gives, so none can say more than it does.

    >>> render_all(report, Path("reports/cartpole_baseline/20261120T101531Z"))
"""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path

from reprokit import workspace
from reprokit.core.checklist import Report
from reprokit.layout import REPORT
from reprokit.reports import to_html, to_json, to_junit, to_markdown

__all__ = ["documents", "render_all"]


def render_all(report: Report, folder: Path) -> None:
    """Write ``report.md``, ``report.html``, ``junit.xml`` and, last, ``report.json``.

    All four are on the disk before the first of them takes its name, so a folder with a
    ``report.json`` has all four, and a full disk leaves an earlier report as it was.

    Args:
        report: What to say.
        folder: Where; made if it is not there.

    Raises:
        ReportError: The report breaks its own schema; nothing was written.
        WorkspaceError: The folder cannot be written, or the disk is full.
    """
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

    Raises:
        ReportError: The report breaks its own schema.
    """
    truth = to_json.to_json(report)
    read_back = to_json.from_json(truth)
    return {
        "report.md": to_markdown.to_markdown(read_back),
        "report.html": to_html.to_html(read_back),
        "junit.xml": to_junit.to_junit(read_back),
        REPORT: truth,
    }
