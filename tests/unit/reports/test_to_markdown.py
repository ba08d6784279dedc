from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from reprokit.core.checklist import Report, Verdict
from reprokit.reports.escaping import Visible, markdown, markdown_code
from reprokit.reports.formats.to_markdown import to_markdown

Sample = Callable[[Verdict], Report]

_OWN_TAGS = re.compile(r"<br>|</?code>|<!-- -->|</?details>|</?summary>")


def _parse(text: str) -> list[Token]:
    return MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).parse(text)


def _inline(tokens: list[Token]) -> list[Token]:
    return [child for token in tokens for child in token.children or ()]


@pytest.mark.parametrize("verdict", list(Verdict))
def test_the_verdict_comes_first_and_every_row_is_there(sample_report: Sample, verdict: Verdict) -> None:
    report = sample_report(verdict)

    text = to_markdown(report)

    assert verdict.value in text.splitlines()[0]
    for row in report.checks:
        assert f"`{row.id}`" in text
    assert report.rerun in text


def _structure(tokens: list[Token]) -> list[str]:
    return [token.type for token in tokens if token.type not in {"inline", "html_block"}]


@pytest.fixture(scope="module")
def expected_structures(blank_and_harmless: tuple[Report, Report]) -> tuple[list[str], ...]:
    return tuple(_structure(_parse(to_markdown(report))) for report in blank_and_harmless)


def test_hostile_text_opens_nothing(
    hostile_report: Report, hostile_text: str, expected_structures: tuple[list[str], ...]
) -> None:
    tokens = _parse(to_markdown(hostile_report))

    assert _structure(tokens) == expected_structures[bool(hostile_text)]
    for token in (*tokens, *_inline(tokens)):
        assert token.type not in {"link_open", "image", "s_open", "em_open", "heading_setext"}
        if token.type in {"html_inline", "html_block"}:
            for tag in re.findall(r"<[^>]*>", token.content):
                assert _OWN_TAGS.fullmatch(tag), tag


def test_hostile_text_leaves_no_character_that_acts(hostile_report: Report) -> None:
    for line in to_markdown(hostile_report).split("\n"):
        assert line.replace("\ufe0f", "").isprintable()
        assert not line.lstrip().startswith("::")


def test_a_table_cell_shows_the_text_itself() -> None:
    text = Visible(r"a\|b `c` *d* <e> & |")
    source = f"| x | y |\n| --- | --- |\n| {markdown(text)} | {markdown_code(text)} |"

    rendered = MarkdownIt("commonmark", {"html": True}).enable("table").render(source)

    shown = r"a\|b `c` *d* &lt;e&gt; &amp; |"
    assert f"<td>{shown}</td>" in rendered
    assert f"<td><code>{shown}</code></td>" in rendered
