"""A comparison as lines for people."""

import pytest

from reprokit.core.comparing.difference import MetricSummary, NearbyRecord, Problem
from reprokit.core.comparison import Comparison, Tolerance, Tolerances, compare_records
from reprokit.core.json_values import MISSING
from reprokit.reports.terminal.diff_to_terminal import diff_to_terminal, headline, ranked


def text_of(comparison, **options):
    return diff_to_terminal(comparison, expected="a.jsonl", actual="b.jsonl", **options)


def compared(left, right, **options):
    return compare_records([{"step": 8, **left}], [{"step": 8, **right}], **options)


def summary(**options):
    return MetricSummary(
        **{"max_abs_error": 0.0, "max_rel_error": 0.0, "mismatches": 0, "first_step": None, **options}
    )


@pytest.mark.parametrize(
    ("comparison", "line"),
    [
        (compared({"a": 1.0}, {"a": 1.0}), "IDENTICAL: equal in every value"),
        (compared({"a": 1.0}, {"a": 2.0}), "DIFFERS: first at step 8 (record 0), metric a"),
        (
            compared({"a": 1.0}, {"a": 2.0}, tolerances=Tolerances(default=Tolerance(atol=1.0))),
            "WITHIN TOLERANCE: values differ, none by more than the tolerance",
        ),
        (compared({}, {}), "CANNOT COMPARE: there is no value to compare"),
        (compare_records([{"a": 1.0}], [{"a": 1.0}, {"a": 1.0}]), "DIFFERS: first at record 1"),
    ],
)
def test_the_answer_is_the_first_line(comparison, line):
    assert headline(comparison) == line
    assert text_of(comparison).splitlines()[0] == line


def test_what_is_off_by_no_number_comes_first_and_shows_no_number():
    per_metric = {
        "fine": summary(),
        "small": summary(max_abs_error=1e-9, max_rel_error=1e-9, mismatches=1),
        "large": summary(max_abs_error=1e9, max_rel_error=0.5, mismatches=1),
        "type": summary(mismatches=1, first_step=3),
        "missing": summary(max_abs_error=None, max_rel_error=None, mismatches=7),
    }
    assert ranked(per_metric) == ["missing", "type", "large", "small"]
    comparison = Comparison(
        identical=False,
        within_tolerance=False,
        records_compared=1,
        metrics_compared=1,
        divergence=None,
        per_metric=per_metric,
    )
    rows = [line.split() for line in text_of(comparison).splitlines()]
    assert ["type", "-", "-", "1", "3"] in rows
    assert ["large", "1e+09", "0.5", "1", "-"] in rows


@pytest.mark.parametrize("width", [60, 80, 200])
def test_lines_fit_the_terminal_where_values_are_long(width):
    name = "very/long/name/" * 20
    comparison = compared({name: 0.1}, {name: 0.2})
    table = text_of(comparison, width=width).split("Largest errors\n")[1].split("\n\n")[0]
    assert max(map(len, table.splitlines())) <= width


def test_context_marks_the_place_and_says_what_is_missing():
    rows = [
        NearbyRecord(record=1, step=8, expected=0.5, actual=0.5, is_divergence=False),
        NearbyRecord(record=2, step=None, expected={"a": 1, "b": 2}, actual=MISSING, is_divergence=True),
    ]
    lines = text_of(compared({"a": 1.0}, {"a": 2.0}), context=rows).splitlines()
    assert any(
        line.startswith(">") and "(a record of 2 values)" in line and "(missing)" in line for line in lines
    )


def test_many_metrics_and_problems_are_cut_and_counted():
    comparison = Comparison(
        identical=False,
        within_tolerance=False,
        records_compared=1,
        metrics_compared=100,
        divergence=None,
        per_metric={f"m{at}": summary(max_abs_error=1.0, mismatches=1) for at in range(100)},
        problems=tuple(
            Problem(kind="torn_line", side="actual", line=at, message="cut", severity="error")
            for at in range(30)
        ),
    )
    text = text_of(comparison)
    assert "and 85 more metrics" in text
    assert "and 10 more problems" in text


def test_words_are_coloured_by_their_tone():
    found = []

    def paint(text, tone):
        found.append((text, tone))
        return f"<{text}>"

    text = text_of(compared({"a": 1.0}, {"a": "1"}), paint=paint)
    assert text.startswith("<DIFFERS>")
    assert ("difference", "bad") in found


def test_an_integer_of_5_000_digits_and_a_text_of_a_megabyte_are_shown_shortly():
    text = text_of(compared({"a": 10**5000, "b": "x" * 10**6}, {"a": 1, "b": "y"}), width=80)
    assert max(map(len, text.splitlines())) < 200
