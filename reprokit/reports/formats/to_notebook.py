"""A report as HTML that a notebook shows: its page in a frame of its own, apart from the notebook."""

from __future__ import annotations

import html

from reprokit.core.checklist import Report
from reprokit.reports.escaping import one_line
from reprokit.reports.formats.to_html import to_html

_STYLE = "width: 100%; height: 720px; border: 1px solid #dde1e7; border-radius: 8px"


def to_notebook(report: Report) -> str:
    """The page as one element.

    Its scripts run without the rights of the notebook's page
    (https://html.spec.whatwg.org/#attr-iframe-sandbox).

    Raises:
        MissingExtraError: Jinja is not installed.
    """
    title = html.escape(one_line(f"{report.verdict}: {report.recipe}"))
    page = html.escape(to_html(report))
    return f'<iframe title="{title}" sandbox="allow-scripts" style="{_STYLE}" srcdoc="{page}"></iframe>\n'
