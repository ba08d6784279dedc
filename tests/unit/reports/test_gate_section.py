"""The statistical gate in the HTML report: what is drawn, and what a report that anyone wrote cannot do."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from reprokit.core.checklist import Verdict
from reprokit.reports.formats import to_json
from reprokit.reports.formats.gate_section import gate_section
from reprokit.reports.formats.to_html import to_html
from support import hostile
from support.seed_pages import judged


def only(section):
    (metric,) = section.metrics
    return metric


def test_a_report_without_an_ensemble_has_no_section(sample_report):
    assert gate_section(None) is None
    assert "Statistical gate" not in to_html(sample_report(Verdict.REPRODUCED))


def test_a_gate_that_passed_shows_values_difference_margin_and_power():
    section = gate_section(judged())
    assert (section.conclusion, section.tone, section.num_cut) == ("EQUIVALENT", "good", 0)
    values, difference, power = only(section).plots
    assert [row.text for row in values.rows] == ["ensemble, 20 seeds", "new, 10 seeds"]
    assert [mark.shape for mark in values.marks].count("dot") == 30
    (zero, margin) = difference.rules
    assert margin.label == "margin 25"
    assert margin.at < zero.at  # a drop is to the left of no difference
    for span in difference.spans:
        assert difference.left <= span.left < zero.at < span.right <= difference.right
    decided = dict(zip(only(section).looks.head, only(section).looks.rows[-1], strict=True))
    low, high = map(float, decided["interval"].split(" to "))
    assert -25 < low < float(decided["difference"]) < high
    assert margin.at < difference.spans[-1].left  # the look that decided
    (area,) = difference.areas
    assert (area.left, area.left + area.width) == pytest.approx((margin.at, zero.at))
    assert [line.kind for line in power.lines] == [entry.kind for entry in power.legend]
    assert [entry.label for entry in power.legend] == ["3 new seeds", "5 new seeds"]


def test_the_power_that_is_drawn_is_near_the_gates_own():
    found = judged()
    look = found["outcome"]["looks"][-1]["metrics"][0]
    power = only(gate_section(found)).plots[2]
    (piece,) = power.lines[-1].pieces
    points = [tuple(map(float, pair.split(","))) for pair in piece.split()]
    at = next(rule.at for rule in power.rules if rule.is_vertical)
    drawn = np.interp(at, [x for x, _ in points], [y for _, y in points])
    share = (power.bottom - drawn) / (power.bottom - power.top)
    assert share == pytest.approx(look["power_at_margin"], abs=0.1)


def test_a_regression_names_the_looks_with_p_value_and_level():
    section = gate_section(judged(drop=60.0))
    assert (section.conclusion, section.tone, section.num_unused) == ("REGRESSION", "bad", 7)
    (row,) = only(section).looks.rows
    named = dict(zip(only(section).looks.head, row, strict=True))
    assert (named["look"], named["threshold"], named["answer"]) == (
        "3 new seeds",
        "0.0045",
        "differs, mean worse",
    )
    assert named["p-value"] == "0.00113"
    assert float(named["difference"]) < -40


def test_where_lower_is_better_the_margin_is_to_the_right():
    difference = only(gate_section(judged(drop=-60.0, lower_is_better=True))).plots[1]
    zero, margin = difference.rules
    assert margin.at > zero.at


def test_values_that_are_not_finite_are_crosses_and_leave_no_difference(sample_report):
    found = judged(odd=[1])
    report = dataclasses.replace(sample_report(Verdict.UNJUDGED), statistical=found)
    again = to_json.from_json(to_json.to_json(report))
    section = gate_section(again.statistical)
    values, difference, *_ = only(section).plots
    assert [mark.told for mark in values.marks if mark.shape == "cross"] == ["new, 10 seeds, seed 101: NaN"]
    assert "new, 10 seeds: not finite: seed 101." in values.notes
    assert not [mark for mark in difference.marks if mark.shape == "dot"]
    assert len(difference.areas) == 2  # no one said which side is worse
    assert any("Some values are not finite" in note for note in difference.notes)
    assert "Statistical gate" in to_html(again)


def test_how_often_the_gate_is_wrong_is_told_in_words():
    passed = "a worsening of exactly the margin in every seed is passed in at most 2.5% of gates"
    assert gate_section(judged()).rates == (
        ("false alarms", "at most 5% of gates where nothing changed"),
        ("wrong passes", passed),
        ("blind spot", "a worsening in only one seed of five was passed in 8% to 11% of gates"),
    )


@pytest.mark.parametrize(
    "rates", [None, 3, [], {}, {"false_alarms_at_most": "x"}, {"false_alarms_at_most": 0.05}]
)
def test_rates_that_cannot_be_read_are_left_out(rates):
    assert gate_section(judged() | {"rates": rates}).rates == ()


def test_an_ensemble_that_was_not_asked_yet_is_drawn_without_looks():
    found = judged() | {"outcome": {"conclusion": "UNJUDGED", "looks": [], "reason": "too few new seeds"}}
    section = gate_section(found)
    assert (section.tone, len(only(section).plots)) == ("unknown", 1)
    assert only(section).looks.rows == ()


@pytest.mark.parametrize(
    "odd",
    [
        {"outcome": "x"},
        {"reference": [1], "new": {"1": 3}, "outcome": {"looks": [3, {"metrics": {}}]}},
        {"new": {"1": {"return": "x"}}, "margins": {"return": None}},
        {"outcome": {"looks": [{"num_new": "3", "level": None, "metrics": [{"name": "return"}]}]}},
        {"margins": {"return": math.inf}, "rates": 3},
        {"reference": {"1": {"return": True}, "2": {"return": 1e400}}},
        {"outcome": {"num_unused": "7", "conclusion": 3, "reason": None}},
    ],
)
def test_a_report_that_was_written_otherwise_is_no_error(sample_report, odd):
    report = dataclasses.replace(sample_report(Verdict.UNJUDGED), statistical=judged() | odd)
    assert "Statistical gate" in to_html(report)


@pytest.mark.parametrize("text", hostile.SCRIPTS[:6])
def test_no_text_of_a_report_becomes_markup(sample_report, text):
    found = judged(metric=text)
    found["outcome"]["reason"] = found["outcome"]["conclusion"] = text
    found["new"] = {text: found["new"]["100"]}
    found["rates"] = {text: text}
    page = to_html(dataclasses.replace(sample_report(Verdict.UNJUDGED), statistical=found))
    assert page.lower().count("<script") == 1, "its own"
    assert "<script>document.documentElement" not in page
    assert 'onerror="' not in page
