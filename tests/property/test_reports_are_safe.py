from __future__ import annotations

import dataclasses
import json
from typing import Any
from xml.etree import ElementTree as ET

from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from reprokit.core.checklist import Verdict
from reprokit.features.github.collected import Collected
from reprokit.features.github.pull_request_comment import comment
from reprokit.reports.escaping import Visible, github_property, markdown, markdown_code, one_line
from reprokit.reports.formats.to_json import from_json, to_json
from reprokit.reports.formats.to_junit import to_junit
from reprokit.reports.gate_record import GateRecord, GateRow
from support import sample_report as samples

# Lone surrogates too: they come out of JSON logs.
any_text = st.text(st.characters(), max_size=200)
tricky_text = st.text(st.sampled_from("|`\\*_[]<>&#~$!{}^@:/.-+=()0123 ab\n\x1b\u202e\ud800"), max_size=60)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | any_text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(any_text, inner, max_size=4),
    max_leaves=12,
)


@given(any_text | tricky_text)
def test_visible_text_is_printable_and_stays_as_it_is(text: str) -> None:
    shown = one_line(text, limit=10_000)

    assert shown.isprintable()
    shown.encode("utf-8")
    assert one_line(shown, limit=10_000) == shown


@given(any_text | tricky_text)
def test_markdown_shows_exactly_the_visible_text(text: str) -> None:
    shown = one_line(text)
    table = f"| x | y |\n| --- | --- |\n| {markdown(shown)} | {markdown_code(shown)} |"

    html = MarkdownIt("commonmark", {"html": True}).enable("table").render(table).replace("<!-- -->", "")

    cells = ["".join(cell.itertext()) for cell in ET.fromstring(html).iter("td")]  # noqa: S314
    assert len(cells) == 2
    assert " ".join(cells[0].split()) == " ".join(shown.split())
    assert " ".join(cells[1].split()) == " ".join(shown.split())


@given(any_text | tricky_text)
def test_a_paragraph_of_visible_text_is_one_paragraph(text: str) -> None:
    shown = one_line(text)

    tokens = MarkdownIt("commonmark", {"html": True}).enable("table").parse(markdown(Visible(shown)))

    assert [token.type for token in tokens] in ([], ["paragraph_open", "inline", "paragraph_close"])


@given(any_text)
def test_a_property_of_a_workflow_command_has_no_separator(text: str) -> None:
    assert not set(github_property(one_line(text))) & set(",:\r\n")


@settings(max_examples=50)
@given(any_text | tricky_text)
def test_a_comment_has_one_structure_whatever_the_text(text: str) -> None:
    assert _structure(f"é{text}") == _structure("é")


def _structure(text: str) -> list[str]:
    """The kinds of all pieces of a comment on a report with this text everywhere."""
    report = samples.with_text(samples.sample_report(Verdict.REGRESSION), text)
    told = {"recipe": report.recipe, "seed": report.seed, "verdict": report.verdict}
    row = GateRow(**told, exit_code=1, report="report.json")
    found = Collected(gate=GateRecord(exit_code=1, recipes=(row,)), reports=((row, report),))
    parsed = MarkdownIt("commonmark", {"html": True}).enable("table").parse(comment(found))
    pieces = [piece for token in parsed for piece in (token, *(token.children or []))]
    written = {"code_inline", "html_inline", "text"}
    return [piece.type for piece in pieces if piece.type not in written]


@settings(max_examples=50)
@given(any_text)
def test_junit_is_well_formed_whatever_the_names(text: str) -> None:
    report = samples.with_text(samples.sample_report(Verdict.REGRESSION), text)

    assert ET.fromstring(to_junit(report)).tag == "testsuites"  # noqa: S314


@given(st.dictionaries(any_text, json_values, max_size=4))
def test_any_environment_record_survives_the_way_to_json_and_back(record: dict[str, Any]) -> None:
    report = dataclasses.replace(samples.sample_report(Verdict.REPRODUCED), environment=record, curves={})

    text = to_json(report)

    assert text.isascii()
    assert to_json(from_json(text)) == text
    json.loads(text, parse_constant=lambda name: (_ for _ in ()).throw(ValueError(name)))
