from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from html.parser import HTMLParser

from reprokit.core.checklist import Report, Verdict
from reprokit.reports.pages.gate_page import GateEntry, gate_to_html
from reprokit.reports.pages.index_page import IndexEntry

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
    assert "1 REGRESSION, 1 ERROR, 1 REPRODUCED. Exit code 1. 1 recipe left out" in page
    assert bad.sentence in page
    assert re.findall('href="(.*?)"', page) == ["./b%20c/T/report.html", "./a/T/report.html"]
    assert '<header class="bad">' in page


def test_earlier_reports_of_a_recipe_are_linked_oldest_first(sample_report: Sample) -> None:
    moments = {"2026-11-03": "REGRESSION", "2026-11-01": "REPRODUCED", "2026-11-02": "UNJUDGED"}
    earlier = tuple(
        IndexEntry(recipe="a", verdict=verdict, created_at=f"{day}T10:00:00Z", place=f"a/{day} x/report.html")
        for day, verdict in moments.items()
    )
    entry = dataclasses.replace(_entry(sample_report(Verdict.REPRODUCED)), earlier=earlier)

    page = gate_to_html([entry], exit_code=0)

    history = page[page.index('<p class="history">') :].split("</p>")[0]
    assert re.findall('href="(.*?)"', history) == [f"./a/2026-11-0{day}%20x/report.html" for day in (1, 2, 3)]
    assert re.findall(">(.)</a>", history) == ["✓", "?", "✕"]
    assert re.findall('aria-label="(.*?)"', history)[2] == "REGRESSION, 2026-11-03"


def test_a_row_has_the_curve_of_the_metric_that_differs_first(sample_report: Sample) -> None:
    page = gate_to_html([_entry(sample_report(Verdict.REGRESSION))], exit_code=1)

    assert re.findall('<p class="label">(.*?)</p>', page)[0] == "losses/policy_loss"
    assert page.count("<polyline") == 3
    assert "<svg" not in gate_to_html([_entry(sample_report(Verdict.NOT_RUN))], exit_code=3)


def test_a_gate_that_judged_nothing_passed_nothing() -> None:
    page = gate_to_html([], exit_code=4)

    assert "Nothing was judged" in page
    assert '<header class="unknown">' in page


def test_hostile_text_is_text_and_no_address(hostile_report: Report, hostile_text: str) -> None:
    words = {"recipe": hostile_text, "verdict": hostile_text, "created_at": hostile_text}
    earlier = IndexEntry(**words, place=hostile_text or "x")
    entries = [
        dataclasses.replace(_entry(hostile_report, place=hostile_text or "x"), earlier=(earlier,)),
        GateEntry(recipe=hostile_text, exit_code=2, error=hostile_text or "x"),
    ]

    page = gate_to_html(entries, exit_code=1)

    assert page.lower().count("<script") == 1, "its own"
    assert all(re.fullmatch(r"\./[\w.~/%-]*", address) for address in re.findall('href="(.*?)"', page))
    found = _Attributes()
    found.feed(page)
    assert not [name for name in found.names if name.startswith("on")]


class _Attributes(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names += [name for name, _ in attrs]


def test_where_an_ensemble_judged_the_row_has_the_curve_of_a_judged_metric(sample_report: Sample) -> None:
    report = sample_report(Verdict.REGRESSION)
    judged = next(name for name in report.curves if name != "losses/policy_loss")
    report = dataclasses.replace(report, statistical={"margins": {f"{judged} (best_high)": 1.0}})

    page = gate_to_html([_entry(report)], exit_code=1)

    assert re.findall('<p class="label">(.*?)</p>', page)[0] == judged
