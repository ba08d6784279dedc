from __future__ import annotations

import re
from collections.abc import Callable

from reprokit.core.checklist import Report, Verdict
from reprokit.reports.pages.gate_page import GateEntry, gate_to_html

Sample = Callable[[Verdict], Report]


def _entry(report: Report, *, place: str = "a/T/report.html") -> GateEntry:
    return GateEntry(recipe=report.recipe, exit_code=report.exit_code, report=report, place=place)


def test_what_did_not_pass_comes_first_each_with_its_sentence_and_its_report(sample_report: Sample) -> None:
    good, bad = sample_report(Verdict.REPRODUCED), sample_report(Verdict.REGRESSION)
    entries = [
        GateEntry(recipe="same", exit_code=0, left_out="nothing of it changed"),
        _entry(good),
        _entry(bad, place="b c/T/report.html"),
        GateEntry(recipe="broken", exit_code=2, error="no such file"),
    ]

    page = gate_to_html(entries, exit_code=1)

    words = re.findall(r'<b class="answer">(.*?)</b>', page)
    assert words == ["REGRESSION", "ERROR", "LEFT OUT", "REPRODUCED"]
    assert "1 of 3 passed" in page
    assert bad.sentence in page
    assert re.findall('href="(.*?)"', page) == ["./b%20c/T/report.html", "./a/T/report.html"]
    assert '<header class="bad">' in page


def test_a_gate_that_judged_nothing_passed_nothing() -> None:
    page = gate_to_html([], exit_code=4)

    assert "Nothing was judged" in page
    assert '<header class="unknown">' in page


def test_hostile_text_is_text_and_no_address(hostile_report: Report, hostile_text: str) -> None:
    entries = [
        _entry(hostile_report, place=hostile_text or "x"),
        GateEntry(recipe=hostile_text, exit_code=2, error=hostile_text or "x"),
    ]

    page = gate_to_html(entries, exit_code=1)

    assert page.lower().count("<script") == 1, "its own"
    assert all(re.fullmatch(r"\./[\w.~/%-]*", address) for address in re.findall('href="(.*?)"', page))
    assert not re.search(r"<[^>]* on\w+=", page)
