from __future__ import annotations

import base64
import dataclasses
import hashlib
import re
from collections.abc import Callable
from html.parser import HTMLParser

import pytest

from reprokit.core.checklist import Report, Verdict
from reprokit.reports.formats.to_html import to_html

Sample = Callable[[Verdict], Report]

_VOID = {"meta", "br"}


class _Page(HTMLParser):
    """Elements, attributes and text of a page; complains about tags that do not match."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.texts: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag not in _VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


@pytest.mark.parametrize("verdict", list(Verdict))
def test_a_page_says_the_verdict_first_and_has_every_row(sample_report: Sample, verdict: Verdict) -> None:
    report = sample_report(verdict)

    page = _Page(to_html(report))

    text = " ".join(page.texts)
    assert text.index(verdict.value) < text.index(report.sentence) < text.index("All rows")
    for row in report.checks:
        assert row.id in page.texts
        assert row.title in page.texts


def test_a_page_answers_in_order_what_failed_what_changed_where_and_why(sample_report: Sample) -> None:
    headings = {
        Verdict.REGRESSION: (
            "What to do next",
            "What failed",
            "What changed since the golden",
            "First divergence",
            "Curves, those that differ first",
            "Errors of each metric",
            "Environment",
            "All rows",
            "How to run it again",
        ),
        Verdict.NONDETERMINISTIC: ("What to do next", "What failed", "First divergence", "Cause", "All rows"),
        Verdict.NO_GOLDEN: ("What to do next", "What was not judged", "Learning curves", "All rows"),
    }
    for verdict, titles in headings.items():
        page = to_html(sample_report(verdict))
        places = [page.index(f">{title}") for title in titles]
        assert places == sorted(places), verdict


def test_the_changed_lines_are_shown_each_with_its_kind(sample_report: Sample) -> None:
    page = to_html(sample_report(Verdict.REGRESSION))

    changed = page[page.index("What changed since the golden") : page.index(">First divergence")]
    assert (
        '<span class="removed">        -  gamma: 0.99\n</span>'
        '<span class="added">    2   +  gamma: 0.98\n</span>' in changed
    )
    assert '<span class="place">        @@ -1,3 +1,3 @@' in changed
    assert "recipes/trainers/new.py" in changed
    assert changed.count(">recipes/cartpole_baseline/recipe.yaml<") == 1


def test_the_records_around_the_divergence_have_both_values_and_the_first_is_marked(
    sample_report: Sample,
) -> None:
    page = to_html(sample_report(Verdict.REGRESSION))

    rows = re.findall(r'<tr class="(equal|first|differs)">(.*?)</tr>', page, flags=re.DOTALL)
    assert [kind for kind, _ in rows] == ["equal", "first", "differs"]
    assert "-0.012345678901234567" in rows[1][1]
    assert "-0.012345678901234568" in rows[1][1]
    assert '<td data-label="Run 1">–</td>' in rows[2][1]


def test_equal_metrics_are_folded_below_those_that_differ(sample_report: Sample) -> None:
    page = to_html(sample_report(Verdict.REGRESSION))

    section = page[page.index("Curves, those that differ first") : page.index("Errors of each metric")]
    differs, *equal = section.split('<details class="equal">')
    assert "losses/policy_loss" in differs
    assert all("<summary>" in one and "equal, ends at" in one for one in equal)
    assert len(equal) + differs.count("<figure") == 6
    assert equal


def test_each_step_of_what_to_do_next_can_be_copied(sample_report: Sample) -> None:
    steps = "if it is meant: commit the changes, then: reprokit reproduce x, then: reprokit golden promote x"
    page = to_html(dataclasses.replace(sample_report(Verdict.REGRESSION), next_command=steps))

    header = page[: page.index("</header>")]
    assert "If it is meant: commit the changes" in header
    commands = re.findall(
        r'<pre class="command">(.*?)</pre><button type="button" class="copy" hidden>', header
    )
    assert commands == ["reprokit reproduce x", "reprokit golden promote x"]


def test_rows_that_passed_are_folded_and_no_other(sample_report: Sample) -> None:
    page = to_html(sample_report(Verdict.REGRESSION))

    folded = page[page.index("<summary>9 rows passed</summary>") :].split("</details>")[0]
    assert folded.count('class="status passed"') == page.count('class="status passed"') == 9


@pytest.mark.parametrize("verdict", list(Verdict))
def test_a_page_needs_nothing_else(sample_report: Sample, verdict: Verdict) -> None:
    page = _Page(to_html(sample_report(verdict)))

    assert page.tags.count("script") == 1
    assert not {"link", "img", "iframe", "object", "embed", "a", "form", "base"} & set(page.tags)
    names = {name for name, _ in page.attributes}
    assert not {name for name in names if name.startswith("on")}
    assert not {"src", "href", "style", "srcset", "xlink:href", "action"} & names


def test_the_policy_allows_this_style_sheet_and_this_script_and_nothing_else(sample_report: Sample) -> None:
    text = to_html(sample_report(Verdict.REPRODUCED))

    (style,) = re.findall(r"<style>(.*?)</style>", text, flags=re.DOTALL)
    (script,) = re.findall(r"<script>(.*?)</script>", text, flags=re.DOTALL)
    digest, other = (
        base64.b64encode(hashlib.sha256(one.encode()).digest()).decode() for one in (style, script)
    )
    policies = [
        value for name, value in _Page(text).attributes if name == "content" and "default-src" in value
    ]
    sources = f"style-src 'sha256-{digest}'; script-src 'sha256-{other}'"
    assert policies == [f"default-src 'none'; {sources}; base-uri 'none'; form-action 'none'"]
    assert "url(" not in style
    assert "@import" not in style


@pytest.fixture(scope="module")
def expected_pages(blank_and_harmless: tuple[Report, Report]) -> tuple[_Page, ...]:
    return tuple(_Page(to_html(report)) for report in blank_and_harmless)


def test_hostile_text_adds_no_element_and_no_attribute(
    hostile_report: Report, hostile_text: str, expected_pages: tuple[_Page, ...]
) -> None:
    page, expected = _Page(to_html(hostile_report)), expected_pages[bool(hostile_text)]

    assert page.tags == expected.tags
    assert [name for name, _ in page.attributes] == [name for name, _ in expected.attributes]
    assert all(character.isprintable() or character == "\n" for text in page.texts for character in text)


def test_the_curves_of_both_runs_and_the_golden_are_drawn_with_the_divergence_marked(
    sample_report: Sample,
) -> None:
    page = _Page(to_html(sample_report(Verdict.REGRESSION)))

    classes = [value for name, value in page.attributes if name == "class"]
    assert page.tags.count("figure") == 6
    # One line a curve and chart, and one in the legend.
    for kind in ("golden", "run-0", "run-1"):
        assert classes.count(f"curve {kind}") == 7
    assert classes.count("marker") == 7
    assert "first divergence: step 43,008" in page.texts


def test_a_report_without_curves_has_no_empty_chart(sample_report: Sample) -> None:
    text = to_html(sample_report(Verdict.NOT_RUN))

    assert "<figure" not in text
    assert "Learning curves" not in text
    assert "can&#39;t allocate memory" in text


def test_a_style_sheet_knows_dark_narrow_and_paper(sample_report: Sample) -> None:
    text = to_html(sample_report(Verdict.REPRODUCED))

    for query in ("prefers-color-scheme: dark", "max-width: 640px", "@media print"):
        assert query in text


def test_the_head_says_how_far_the_first_values_are_apart(sample_report: Sample) -> None:
    report = sample_report(Verdict.REGRESSION)
    found = report.divergence
    assert found is not None
    page = to_html(report)
    head = page[: page.index("</header>")]
    assert f"losses/policy_loss: {found.expected} (golden), {found.actual} (run 1), relative error" in head
    without = dataclasses.replace(report, divergence=dataclasses.replace(found, rel_error=None))
    assert 'class="far"' not in to_html(without)
