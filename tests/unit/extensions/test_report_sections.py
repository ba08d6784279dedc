"""What an extension writes into a report: shown as its own text, and with no say in anything."""

import html
import json
from dataclasses import replace

import pytest

from reprokit import checks, extensions
from reprokit.core.checklist import Verdict
from reprokit.core.extension_record import ReportedExtension, ReportedSection, SectionTable
from reprokit.errors import ReportError
from reprokit.extensions.sections import SectionContent, foreign_sections, problem_of
from reprokit.harness.judging.build_report import report_of
from reprokit.reports.formats import to_html, to_json, to_markdown
from reprokit.reports.pages.paper import ROOMS, paper
from reprokit.reports.terminal.to_terminal import Style, to_terminal
from support import hostile, planted
from support.installed_extension import install
from support.sample_report import sample_report

SECTION = """\
from reprokit.api.extensions import Extension, Section, SectionContent, SectionTable

EXTENSION = Extension(sections={{"nodes": "planted_one:SECTION"}})


def write(judged, verdict):
    {body}


SECTION = Section(title="Nodes", write=write)
"""
GOOD = (
    "return SectionContent(paragraphs=['All on one node.'], "
    "tables=[SectionTable(head=('Run', 'Node'), rows=((1, 'n1'),))])"
)
MINE = ReportedExtension(name="planted-one", version="1.0", digest="sha256:1")


@pytest.fixture(autouse=True)
def _nothing_loaded():
    extensions.unload()
    yield
    extensions.unload()


@pytest.fixture
def loaded(tmp_path):
    def load(code):
        install(tmp_path, {"__init__.py": code})
        extensions.load(["planted-one==1.0"], site_packages=tmp_path)
        assert extensions.broken() == ()

    return load


def judged(evidence):
    return report_of(evidence, folders=(), command="reprokit", now="2026-01-01T00:00:00Z")


def written(body, loaded):
    loaded(SECTION.format(body=body))
    (section,) = foreign_sections(planted.clean(), Verdict.REPRODUCED)
    return section


def test_a_section_stands_in_the_report_and_the_sentence_names_it(loaded):
    evidence = replace(planted.CLEAN["data_recorded"](planted.clean()), extensions=(MINE,))
    before = judged(evidence)
    loaded(SECTION.format(body=GOOD))
    report = judged(evidence)
    assert report.sections == (
        ReportedSection(
            extension="planted-one",
            version="1.0",
            name="nodes",
            title="Nodes",
            paragraphs=("All on one node.",),
            tables=(SectionTable(head=("Run", "Node"), rows=(("1", "n1"),)),),
        ),
    )
    assert report.sentence == before.sentence.replace(
        "planted-one 1.0.", "planted-one 1.0 (its section nodes was added)."
    )
    assert report.sentence != before.sentence
    assert to_json.from_json(to_json.to_json(report)) == report


@pytest.mark.parametrize(
    "body",
    [
        GOOD,
        "1 / 0",
        "exit(0)",
        "judged.recipe.clear(); " + GOOD,
        "return SectionContent(paragraphs=['REPRODUCED (exit code 0)'])",
    ],
)
@pytest.mark.parametrize("strict", [False, True])
def test_no_section_changes_a_verdict_a_row_or_an_exit_code(loaded, body, strict):
    good = planted.CLEAN["data_recorded"](planted.clean(strict=strict))
    bad = replace(good, repeats=(planted.DIFFERENT,))
    before = [judged(good), judged(bad)]
    loaded(SECTION.format(body=body))
    for one, then in zip((judged(good), judged(bad)), before, strict=True):
        assert (one.verdict, one.exit_code, one.checks) == (then.verdict, then.exit_code, then.checks)
        assert len(one.sections) == 1
    assert [one.verdict for one in before] == [Verdict.REPRODUCED, Verdict.NONDETERMINISTIC]
    assert good.recipe is not None
    assert good.recipe["name"] == planted.clean().recipe["name"]


def test_a_section_is_written_for_the_verdict_that_was_judged(loaded):
    section = written("return SectionContent(paragraphs=[f'{verdict} of {len(judged.runs)} runs'])", loaded)
    assert section.paragraphs == ("REPRODUCED of 2 runs",)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("exit(3)", "SystemExit: 3"),
        ("return None", "it gave a NoneType, not a SectionContent"),
        ("return '<b>fine</b>'", "it gave a str"),
        ("return SectionContent()", "nothing to show"),
        ("return SectionContent(paragraphs='text')", "not a sequence of texts"),
        ("return SectionContent(paragraphs=[1])", "not a sequence of texts"),
        ("return SectionContent(paragraphs=None)", "TypeError"),
        ("return SectionContent(tables=[[1]])", "not a sequence of SectionTable"),
        (
            "return SectionContent(tables=[SectionTable(head=('a',), rows=(('b', 'c'),))])",
            "as long as its head",
        ),
        ("return SectionContent(tables=[SectionTable(head=('a',), rows=('b',))])", "as long as its head"),
        ("return SectionContent(tables=[SectionTable(head=())])", "as long as its head"),
        (
            "return SectionContent(tables=[SectionTable(head=('a',), rows=((object(),),))])",
            "a cell of a table",
        ),
        ("return SectionContent(tables=[SectionTable(head=('a',) * 21)])", "more than 20 columns"),
        ("return SectionContent(tables=[SectionTable(head=('a',), rows=(('b',),) * 501)])", "or 500 rows"),
        ("return SectionContent(paragraphs=['a' * 2001])", "more than 2,000 characters"),
        ("return SectionContent(tables=[SectionTable(head=('a' * 2001,))])", "more than 2,000 characters"),
        ("return SectionContent(paragraphs=['a'] * 51)", "more than 50 paragraphs"),
    ],
)
def test_a_faulty_section_is_empty_and_says_why_by_name(loaded, body, why):
    section = written(body, loaded)
    assert why in section.problem
    assert (section.label, section.name, section.paragraphs, section.tables) == (
        "planted-one 1.0",
        "nodes",
        (),
        (),
    )
    evidence = replace(planted.clean(), extensions=(MINE,))
    assert f"planted-one 1.0 (its section nodes could not be written: {section.problem})" in (
        judged(evidence).sentence
    )


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("EXTENSION = Extension(sections={'nodes': 'planted_one:NOTHING'})", "cannot be imported"),
        ("EXTENSION = Extension(sections={'nodes': 'planted_one:EXTENSION'})", "is not a Section"),
    ],
)
def test_a_section_that_is_not_there_is_said_in_the_report_and_stops_nothing(loaded, code, why):
    loaded(f"from reprokit.api.extensions import Extension\n{code}\n")
    (section,) = foreign_sections(planted.clean(), Verdict.REPRODUCED)
    assert why in section.problem


def drawn(section):
    report = replace(sample_report(Verdict.REGRESSION), sections=(section,))
    return {
        "html": to_html.to_html(report),
        "markdown": to_markdown.to_markdown(report),
        "terminal": to_terminal(report, style=Style(is_terminal=True, width=100), verbose=True),
        "plain": to_terminal(report, style=Style(is_terminal=False), verbose=True),
        "paper": json.dumps(paper(report, ROOMS[0])),
    }


def section_of(text):
    return ReportedSection(
        extension="pbs-queue",
        version="1.0",
        name="nodes",
        title=text,
        paragraphs=(text,),
        tables=(SectionTable(head=(text,), rows=((text,),)),),
        problem=text,
    )


def test_every_format_shows_whose_text_it_is():
    shown = drawn(replace(section_of("All on one node."), problem=""))
    for form, text in shown.items():
        assert "Extension pbs-queue 1.0" in text, form
        assert "All on one node." in html.unescape(text), form
        assert "no verdict follows from it" in text, form


def test_every_format_says_what_could_not_be_written():
    for form, text in drawn(section_of("it broke")).items():
        assert "could not be written: it broke" in text, form


@pytest.mark.parametrize("text", hostile.TEXTS[::9])  # all of them: the tests of reports
def test_no_format_reads_the_text_of_an_extension_as_anything_else(text):
    shown, harmless = drawn(section_of(text)), drawn(section_of("x"))
    if set("<>&") & set(text):
        assert text not in shown["html"]
    assert shown["html"].count("<") == harmless["html"].count("<")
    for form in ("markdown", "terminal", "plain"):
        assert not [one for one in shown[form] if not one.isprintable() and one not in "\n\x1b"], form
        assert shown[form].count("\x1b") == 0 or form == "terminal"
    assert shown["plain"].count("\n") == harmless["plain"].count("\n")


def test_a_report_whose_section_has_another_key_or_type_is_refused():
    report = replace(sample_report(Verdict.REGRESSION), sections=(section_of("x"),))
    told = to_json.to_dict(report)
    for change in ({"html": "<b>"}, {"paragraphs": "x"}, {"tables": [{"head": [1]}]}):
        with pytest.raises(ReportError):
            to_json.from_dict({**told, "sections": [{**told["sections"][0], **change}]})


def test_a_report_without_sections_stays_what_it_was():
    assert "sections" not in to_json.to_dict(sample_report(Verdict.REGRESSION))


def test_sections_are_no_rows_of_the_checklist(loaded):
    before = [row.id for row in checks.run_all(planted.clean())]
    loaded(SECTION.format(body=GOOD))
    assert [row.id for row in checks.run_all(planted.clean())] == before


def test_what_a_section_may_hold():
    table = SectionTable(head=("a",), rows=((1.5,), (True,), (None,), ("text",)))
    assert problem_of(SectionContent(paragraphs=["one"], tables=[table])) == ""
