"""Every format, drawn from realistic reports, is what it was (``pytest --force-regen`` draws again)."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from pytest_regressions.file_regression import FileRegressionFixture

from reprokit.core.checklist import Report, Verdict
from reprokit.reports.formats.to_github import annotation_commands, step_summary
from reprokit.reports.formats.to_html import to_html
from reprokit.reports.formats.to_json import to_json
from reprokit.reports.formats.to_junit import to_junit
from reprokit.reports.formats.to_markdown import to_markdown
from reprokit.reports.terminal.to_terminal import Style, to_terminal

_ALL = tuple(Verdict)
_SAME_ON_EACH_PAGE = re.compile(
    "(?<=<style>).*?(?=</style>)|(?<=<script>).*?(?=</script>)|sha256-[A-Za-z0-9+/=]+", re.DOTALL
)
_RICH = (Verdict.REGRESSION, Verdict.STALE_GOLDEN, Verdict.NOT_RUN)


def _own_part(page: str) -> str:
    """A page without its style sheet and script, which are files of the package and the same on each page."""
    return _SAME_ON_EACH_PAGE.sub("…", page)


_FORMATS: dict[str, tuple[Callable[[Report], str], str, tuple[Verdict, ...]]] = {
    "json": (to_json, ".json", (Verdict.REGRESSION, Verdict.NOT_RUN)),
    "markdown": (to_markdown, ".md", _ALL),
    "junit": (to_junit, ".xml", _ALL),
    "html": (
        lambda report: _own_part(to_html(report)),
        ".html",
        (Verdict.REGRESSION, Verdict.NOT_RUN, Verdict.NONDETERMINISTIC),
    ),
    "plain": (lambda report: to_terminal(report, style=Style(is_terminal=False)), ".txt", _ALL),
    "plainwhole": (
        lambda report: to_terminal(report, style=Style(is_terminal=False), verbose=True),
        ".txt",
        _RICH,
    ),
    "terminal80": (lambda report: to_terminal(report, style=Style(width=80)), ".txt", _ALL),
    "whole80": (lambda report: to_terminal(report, style=Style(width=80), verbose=True), ".txt", _ALL),
    "whole200": (lambda report: to_terminal(report, style=Style(width=200), verbose=True), ".txt", _RICH),
    "color80": (
        lambda report: to_terminal(report, style=Style(width=80, color=True)),
        ".ansi",
        (Verdict.UNJUDGED,),
    ),
    "summary": (lambda report: step_summary([report]), ".md", _RICH),
    "annotations": (lambda report: "\n".join(annotation_commands([report])) + "\n", ".txt", _ALL),
}


@pytest.mark.parametrize(
    ("name", "verdict"),
    [(name, verdict) for name, (_, _, verdicts) in _FORMATS.items() for verdict in verdicts],
)
def test_a_format_is_drawn_as_it_was(
    file_regression: FileRegressionFixture,
    sample_report: Callable[[Verdict], Report],
    name: str,
    verdict: Verdict,
) -> None:
    draw, extension, _ = _FORMATS[name]

    file_regression.check(
        draw(sample_report(verdict)),
        basename=f"{name}-{verdict.lower()}",
        extension=extension,
        encoding="utf-8",
        newline="\n",
    )
