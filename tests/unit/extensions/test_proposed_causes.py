"""What an extension proposes of a diagnosis: beside the tool's own causes, and never more certain."""

from dataclasses import replace
from pathlib import Path

import pytest

from reprokit import extensions
from reprokit.core.comparing.difference import Divergence
from reprokit.core.extension_record import ReportedProposal
from reprokit.diagnosis import CATEGORIES, Cause
from reprokit.errors import UsageError
from reprokit.harness.diagnosing import proposing
from reprokit.harness.diagnosing.diagnosis import DIFFERS, EQUAL, UNJUDGED, Diagnosis, RuledOut
from reprokit.reports.formats.to_html import diagnosis_to_html
from reprokit.reports.pages import diagnosis_page
from reprokit.reports.pages.cause import cause_facts, cause_page
from reprokit.reports.terminal.diagnosis_screen import screen
from support import hostile
from support.installed_extension import install

CODE = """\
from reprokit.api.extensions import Extension, NamedCause, Proposal

EXTENSION = Extension(causes={{"{name}": "planted_one:CAUSE"}})


def propose(found):
    {body}


CAUSE = NamedCause(propose=propose)
"""
AT_3 = "return Proposal(what='reads the job id', fix='use the seed', file='/lab/train.py', line=3)"
OWN = Cause(category="environment", file="/lab/train.py", line=3, what="x", fix="y", confidence="high")
FOUND = Diagnosis(
    verdict=DIFFERS,
    divergence=Divergence(record=1, step=2, metric="loss", expected=0.5, actual=0.25),
    causes=(OWN,),
    folder=Path("/lab/reports/x"),
    ruled_out=(RuledOut(what="/lab/train.py:30 (clock)", how="held, the runs differ still"),),
    runs=9,
)


@pytest.fixture(autouse=True)
def _nothing_loaded():
    extensions.unload()
    yield
    extensions.unload()


@pytest.fixture
def load(tmp_path):
    def load(body, name="job_id"):
        install(tmp_path, {"__init__.py": CODE.format(name=name, body=body)})
        extensions.load(["planted-one==1.0"], site_packages=tmp_path)
        assert extensions.broken() == ()

    return load


def proposed(found=FOUND, notes=None):
    return proposing.with_proposals(found, note=([] if notes is None else notes).append)


def only(found=FOUND):
    (one,) = proposed(found).proposals
    return one


def test_a_proposal_stands_beside_the_causes_and_changes_nothing_else(load):
    load(AT_3)
    found = proposed()
    told = {name: value for name, value in found.as_data().items() if name not in {"extensions", "proposals"}}
    assert told == FOUND.as_data()
    assert [one["name"] for one in found.as_data()["extensions"]] == ["planted-one"]
    assert found.as_data()["proposals"][0]["what"] == "reads the job id"


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        (OWN, ("high", "environment")),
        (replace(OWN, confidence="medium"), ("medium", "environment")),
        (replace(OWN, confidence="low"), ("low", "environment")),
        (replace(OWN, line=4), ("low", "")),
        (replace(OWN, file="/lab/other.py"), ("low", "")),
        (replace(OWN, category="unknown"), ("low", "")),
    ],
)
def test_it_is_as_certain_as_the_own_cause_at_its_line_and_else_low(load, own, expected):
    load(AT_3)
    one = only(replace(FOUND, causes=(own,)))
    assert (one.confidence, one.held_by) == expected


def test_one_without_a_line_is_never_held_by_a_cause_without_a_line(load):
    load("return Proposal(what='x', fix='y')")
    own = replace(OWN, file=None, line=None)
    assert only(replace(FOUND, causes=(own,))).confidence == "low"


@pytest.mark.parametrize(
    ("where", "line", "is_ruled_out"),
    [
        ("/lab/train.py", 30, True),
        ("/lab/train.py", 3, False),
        ("/lab/train.py", 300, False),
        ("lab/train.py", 30, False),
        ("train.py", 30, False),
        ("/lab/train.py", 0, False),
    ],
)
def test_a_line_that_was_ruled_out_stays_so_and_the_proposal_says_it(load, where, line, is_ruled_out):
    load(f"return Proposal(what='x', fix='y', file={where!r}, line={line})")
    found = proposed(replace(FOUND, causes=()))
    (one,) = found.proposals
    assert (one.ruled_out == "held, the runs differ still") is is_ruled_out
    assert found.ruled_out == FOUND.ruled_out
    if is_ruled_out:
        assert one.standing == "low: reprokit ruled this line out: held, the runs differ still"


def test_what_it_does_to_the_diagnosis_that_it_is_shown_stays_its_own(load):
    load("found['ruled_out'].clear(); found['verdict'] = 'REPEATABLE'; return None")
    assert proposed().ruled_out == FOUND.ruled_out
    assert (proposed().verdict, proposed().proposals) == (DIFFERS, ())


@pytest.mark.parametrize("verdict", [EQUAL, UNJUDGED])
def test_nothing_is_proposed_where_nothing_differs(load, verdict):
    load(AT_3)
    equal = replace(FOUND, verdict=verdict, divergence=None, causes=())
    assert proposed(equal).proposals == ()


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("1 / 0", "ZeroDivisionError"),
        ("exit(0)", "SystemExit"),
        ("return 'a text'", "it gave a str, not a Proposal"),
        ("return Proposal(what='', fix='y')", "what, fix and file are texts"),
        ("return Proposal(what=1, fix='y')", "what, fix and file are texts"),
        ("return Proposal(what='x', fix=' ')", "what, fix and file are texts"),
        ("return Proposal(what='x', fix='y', file='a.py')", "belong together"),
        ("return Proposal(what='x', fix='y', line=3)", "belong together"),
        ("return Proposal(what='x', fix='y', file='a.py', line=True)", "line is a number from 1 on"),
        ("return Proposal(what='x', fix='y', file='a.py', line=0)", "line is a number from 1 on"),
        ("return Proposal(what='x' * 2001, fix='y')", "more than 2,000 characters"),
    ],
)
def test_a_faulty_one_is_a_warning_by_name_and_the_diagnosis_stands(load, body, why):
    load(body)
    notes = []
    found = proposed(notes=notes)
    (one,) = found.proposals
    assert why in one.problem
    assert notes == [f"Warning: the cause job_id of the extension planted-one 1.0: {one.problem}"]
    assert (found.verdict, found.causes) == (DIFFERS, (OWN,))
    assert "proposed by" not in diagnosis_page.headline(found, root=Path("/lab"))


@pytest.mark.parametrize("name", [*sorted(CATEGORIES), "hash-order", "unseeded-rng"])
def test_a_category_of_the_tool_cannot_be_taken_and_that_is_said_before_anything_runs(load, name):
    load(AT_3, name=name)
    with pytest.raises(UsageError, match="which is built in"):
        proposing.must_be_sound()


def test_one_that_is_not_there_is_wrong_usage_before_anything_runs_and_never_a_fault_of_the_answer(tmp_path):
    declared = "EXTENSION = Extension(causes={'a': 'planted_one:X'})"
    install(tmp_path, {"__init__.py": f"from reprokit.api.extensions import Extension\n{declared}\n"})
    extensions.load(["planted-one==1.0"], site_packages=tmp_path)
    with pytest.raises(UsageError, match=r"the cause a of the extension planted-one 1\.0 cannot be imported"):
        proposing.must_be_sound()
    assert "cannot be imported" in only().problem


def test_without_extensions_the_answer_is_what_it_was():
    assert proposed() is FOUND
    assert "proposals" not in FOUND.as_data()


ONE = ReportedProposal(
    extension="pbs-queue",
    version="1.0",
    category="job_id",
    what="reads it",
    fix="drop it",
    file="/lab/t.py",
    line=7,
)
SHOWN = replace(FOUND, proposals=(ONE,), extensions=({"name": "pbs-queue"},))


def test_the_sentence_names_who_proposes_it_after_the_tools_own_cause():
    told = diagnosis_page.headline(SHOWN, root=Path("/lab"))
    assert told.endswith(
        "; proposed by pbs-queue 1.0: job_id at t.py:7: reads it "
        "(confidence low: no experiment of reprokit holds it)"
    )
    assert "cause: train.py:3: x; fix: y" in told
    unknown = diagnosis_page.headline(replace(SHOWN, causes=()), root=Path("/lab"))
    assert "cause unknown: no experiment shows one; proposed by pbs-queue 1.0" in unknown


def test_page_screen_and_lines_have_it_with_its_fix():
    page = diagnosis_to_html(SHOWN.as_data(), subject="train", sentence="x")
    assert "proposed by the extension pbs-queue 1.0" in page
    assert "<b>Hint of pbs-queue 1.0:</b> drop it" in page
    lines = [one.text for one in screen(SHOWN, subject="x", root=Path("/lab"), again=[], width=100)]
    assert lines[lines.index("Proposed by pbs-queue 1.0") + 1] == "  job_id at t.py:7: reads it"
    assert "  proposed by pbs-queue 1.0: job_id at t.py:7: reads it" in list(
        diagnosis_page.page_lines(SHOWN, root=Path("/lab"))
    )
    assert ("proposed by pbs-queue 1.0", "job_id at /lab/t.py:7: reads it") in cause_facts(
        cause_page(SHOWN.as_data())
    )


@pytest.mark.parametrize("text", hostile.SCRIPTS[::5])
def test_its_text_is_text_on_the_page(text):
    one = replace(ONE, what=text, fix=text, extension=text, category=text)
    told = replace(SHOWN, proposals=(one, replace(one, problem=text))).as_data()
    page = diagnosis_to_html(told, subject="train", sentence="x")
    assert text not in page


def test_no_proposal_of_a_hand_made_diagnosis_breaks_the_page():
    told = {**SHOWN.as_data(), "proposals": [{"extension": "a", "version": "1", "category": "b"}]}
    assert cause_page(told) is not None
