"""The log of problems, and the page that explains its words."""

import re
from pathlib import Path

import pytest

from reprokit.core.problems import DIFFERENCE, KINDS, ProblemLog

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "metrics-problems.md"


def test_every_word_is_explained_with_its_severity():
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \|", PAGE.read_text(), flags=re.MULTILINE)
    assert dict(rows) == {kind: severity for kind, (severity, _) in KINDS.items()}
    assert len(rows) == len(KINDS)


def test_a_million_bad_lines_are_one_problem():
    log = ProblemLog()
    for line in range(1, 1001):
        log.add("blank_line", "actual", line=line)
    (problem,) = log.problems()
    assert problem.line == 1
    assert "(999 more like this)" in problem.message


def test_many_names_are_cut_and_counted():
    log = ProblemLog()
    for number in range(100):
        log.add("missing_metric", "actual", detail=f"'m{number}'")
    problems = log.problems()
    assert len(problems) == 21
    assert any("and others (79 more like this)" in problem.message for problem in problems)


def test_the_gravest_severity_of_one_problem_is_the_one_that_is_told():
    log = ProblemLog()
    for severity in (None, DIFFERENCE, None):
        log.add("duplicate_step", "actual", line=3, severity=severity)
    assert [(one.severity, one.message) for one in log.problems()] == [
        ("difference", "a step comes twice in a row (2 more like this)")
    ]


def test_what_both_sides_have_alike_is_said_once():
    log = ProblemLog()
    for side in ("expected", "actual"):
        log.add("carriage_return", side, line=1)
        log.add("torn_line", side, line=7 if side == "expected" else 8)
    assert [(problem.kind, problem.side) for problem in log.problems()] == [
        ("torn_line", "expected"),
        ("torn_line", "actual"),
        ("carriage_return", "both"),
    ]


def test_the_gravest_come_first():
    log = ProblemLog()
    log.add("uneven_steps", "both", line=1)
    log.add("missing_metric", "actual", line=2)
    log.add("torn_line", "actual", line=3)
    assert [problem.severity for problem in log.problems()] == ["error", "difference", "warning"]


def test_an_unknown_word_is_refused():
    with pytest.raises(KeyError):
        ProblemLog().add("made_up", "actual")
