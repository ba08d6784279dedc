"""A report as one self-contained HTML page: without network, font or image; its script can be missed.

Jinja escapes every value, and the content security policy allows nothing but the page's own style sheet and
script, by their digests: a value that got through unescaped could still not run or fetch anything.
"""

from __future__ import annotations

import base64
import functools
import hashlib
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import TYPE_CHECKING, Any

from reprokit import extras
from reprokit.core.checklist import Report
from reprokit.reports.charts.curves import HEIGHT, WIDTH
from reprokit.reports.escaping import one_line, pieces
from reprokit.reports.formats.explanations import GATE_TITLE
from reprokit.reports.formats.report_content import outline
from reprokit.reports.pages.cause import CausePage, cause_page
from reprokit.reports.pages.next_steps import NextStep, after_cause, is_choice, next_steps
from reprokit.reports.pages.report_page import report_page

if TYPE_CHECKING:
    import jinja2

#: The scripts of a page with tables that sort, and of one with curves.
WITH_TABLES = ("tables.js",)
WITH_CHARTS = ("copy.js", "charts.js", "chart_tools.js", "walks.js")


def to_html(report: Report) -> str:
    """The report as a self-contained HTML 5 page."""
    found = outline(report)
    return page(
        "report.html.jinja",
        found=found,
        shown=report_page(report, found),
        pieces=pieces,
        gate=_gate(report),
        gate_title=GATE_TITLE,
        plot_width=f"{WIDTH:g}",
        chart_width=f"{WIDTH:g}",
        chart_height=f"{HEIGHT:g}",
        scripts=WITH_CHARTS,
    )


def diagnosis_to_html(found: Mapping[str, Any], *, subject: str, sentence: str) -> str:
    """What `reprokit diagnose` found as a page of its own; ``subject`` is the recipe or command."""
    verdict = str(found.get("verdict") or "UNJUDGED")
    cause = cause_page(found)
    return page(
        "diagnosis.html.jinja",
        cause=cause,
        steps=_after(cause, found.get("next") or ()) if cause else (),
        verdict=one_line(verdict),
        subject=one_line(subject),
        sentence=one_line(sentence.removeprefix(f"{verdict}: ")),
    )


def _after(cause: CausePage, commands: Sequence[str]) -> tuple[NextStep, ...]:
    """What to do after a diagnosis: what it says itself, else to mend the cause and look once more."""
    typed = tuple(step for one in commands for step in next_steps(one_line(one)))
    return typed or after_cause(cause.cards, again=cause.replay[0] if cause.replay else one_line(""))


def _gate(report: Report) -> Any:
    """The section of the statistical gate; what it draws with is loaded only where there is one."""
    if not report.statistical:
        return None
    from reprokit.reports.formats.gate_section import gate_section  # noqa: PLC0415  (numpy)

    return gate_section(report.statistical)


def page(template: str, *, scripts: Sequence[str] = ("copy.js",), **found: Any) -> str:
    """A self-contained HTML 5 page of ``templates/``; every value in it is escaped.

    Args:
        template: Its name.
        scripts: Those of ``templates/`` that make up the one script of the page.
        found: What it shows.

    Raises:
        MissingExtraError: Jinja is not installed.
    """
    return _page(template).render(**found, **_style(scripts))


def _style(scripts: Sequence[str]) -> dict[str, str]:
    style, script = _template_text("report.css"), "".join(map(_template_text, scripts))
    policy = (
        f"default-src 'none'; style-src '{_source_hash(style)}'; script-src '{_source_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    return {"style": style, "script": script, "policy": policy}


@functools.cache
def _page(name: str) -> jinja2.Template:
    """A page's template, compiled once a process: that takes ten times as long as drawing it."""
    extras.must_have("jinja2")
    import jinja2  # noqa: PLC0415  (an extra)

    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_template_text),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.globals["is_choice"] = is_choice
    return environment.get_template(name)


def _template_text(name: str) -> str:
    return (resources.files("reprokit.reports") / "templates" / name).read_text(encoding="utf-8")


def _source_hash(text: str) -> str:
    """The name of a style sheet or script in a content security policy (https://www.w3.org/TR/CSP3/#hash-source)."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode('ascii')}"
