"""Programs that nobody here wrote: ``reproduce`` is right about them, ``diagnose`` finds their faults only.

Three of them run with few packages beyond those of the tests; the others are slow and need an environment
that is made once and kept in the user's cache. What a full run says is in docs/evidence/diagnose-results.md.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from real_programs import (
    CannotBeMadeError,
    ask,
    known_options,
    laid_out,
    line_is_right,
    named_options,
    programs,
    python_for,
)
from score_real import DOCUMENT, HEADING, section, write

ALL = programs()
AT_ONCE = "nanogpt"  # whose two runs are short, and need PyTorch alone


def _all(test: str):
    return [pytest.param(one, id=one.name, marks=_marks(one, test)) for one in ALL]


def _marks(program, test):
    marks = [pytest.mark.timeout(7200)]
    if program.name != AT_ONCE or test != "reproduce":
        marks.append(pytest.mark.slow)
    if reason := program.known.get(test):
        marks.append(pytest.mark.xfail(strict=True, reason=reason))
    return marks


@pytest.fixture
def copy(tmp_path):
    """A copy of the program that the test is about, clean or faulty as its mark says."""

    def of(program, *, faulty=False):
        try:
            python_for(program)
        except CannotBeMadeError as problem:
            pytest.skip(f"the environment of {program.name} cannot be made here: {problem}")
        return laid_out(program, tmp_path, faulty=faulty)

    return of


def test_what_is_measured_again_takes_the_place_of_its_section_and_leaves_the_rest_of_the_page(
    tmp_path, monkeypatch
):
    page = tmp_path / "page.md"
    page.write_text(DOCUMENT.read_text() + "\n## Another section\n\nits text\n")
    before, heading, _ = page.read_text().partition(f"\n{HEADING}\n")
    monkeypatch.setattr("score_real.DOCUMENT", page)
    write({})
    now = page.read_text()
    assert heading
    assert now.startswith(f"{before}\n{section({})}")
    assert now.endswith("\n## Another section\n\nits text\n")
    assert now.count(HEADING) == 1


def test_both_scripts_that_write_the_page_know_its_sections_by_the_same_name():
    assert f'"\\n{HEADING}"' in (DOCUMENT.parents[2] / "tests" / "planted" / "score.py").read_text()


def test_the_thirteen_kinds_of_program_are_there():
    assert len(ALL) >= 13
    assert sum(one.environment != "whole" for one in ALL) >= 3


@pytest.mark.parametrize("program", ALL, ids=[one.name for one in ALL])
def test_a_program_says_where_it_is_from_and_what_it_needs(program):
    assert (program.folder / "requirements.txt").read_text().strip()
    if program.authorship == "unmodified" and not program.also_from:
        assert (program.folder / "LICENSE").is_file()


@pytest.mark.parametrize("program", _all("reproduce"))
def test_two_runs_are_repeatable_at_once_or_with_the_option_that_the_report_names(program, copy):
    one = copy(program)
    answer = ask("reproduce", one)
    assert answer.told, answer.words
    if answer.told["verdict"] != "REPEATABLE":
        options = named_options(answer)
        assert options, answer.told["sentence"]
        answer = ask("reproduce", one, *options)
    assert answer.told.get("verdict") == "REPEATABLE", answer.told.get("sentence") or answer.words


@pytest.mark.parametrize("program", _all("without_clocks"))
def test_two_runs_are_repeatable_without_what_the_clock_decides(program, copy):
    if not program.names_options:
        pytest.skip("nothing of this program follows the clock: the test before this one says it all")
    answer = ask("reproduce", copy(program), *known_options(program))
    assert answer.told.get("verdict") == "REPEATABLE", answer.told.get("sentence") or answer.words


@pytest.mark.parametrize("program", _all("diagnose_clean"))
def test_a_clean_program_is_not_accused(program, copy):
    answer = ask("diagnose", copy(program), *known_options(program))
    assert answer.code == 0, answer.told.get("sentence") or answer.words


@pytest.mark.parametrize("program", _all("diagnose_faulty"))
def test_the_line_of_the_fault_is_named(program, copy):
    faulty = copy(program, faulty=True)
    answer = ask("diagnose", faulty, *known_options(program))
    assert answer.code == 1, answer.told or answer.words
    assert line_is_right(faulty, answer), (answer.told.get("cause"), faulty.lines)
    assert answer.told["cause"]["category"] in program.faulty.categories
