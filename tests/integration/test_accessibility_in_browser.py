"""Pages in a real browser under axe-core: names, roles, headings and contrast, in both schemes and widths."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from reprokit.core.checklist import Verdict
from reprokit.core.report_parts import DrawnCurve
from reprokit.features.learning.curve import Point
from reprokit.features.learning.learned import Learned
from reprokit.features.learning.learning_html import learning_to_html
from reprokit.features.tune import studies
from reprokit.features.tune.pages.study_page import study_to_html
from reprokit.features.tune.studies import Trial, TrialState
from reprokit.learning import Answer, Health
from reprokit.reports.formats.to_html import diagnosis_to_html, to_html
from reprokit.reports.pages.gate_page import GateEntry, gate_to_html
from reprokit.reports.pages.index_page import IndexEntry, index_to_html
from support import sample_report as samples
from support import seed_pages
from support.browser import Browser, chromium_binary
from support.search import definition

_ENTRY = IndexEntry(recipe="a", verdict="REGRESSION", created_at="2026-11-20T10:00:00Z", place="a/T/x.html")
_GATE = GateEntry(
    recipe="a", exit_code=1, report=samples.sample_report(Verdict.REGRESSION), place="x", earlier=(_ENTRY,)
)
_CURVE = DrawnCurve(label="x", steps=[0, 1, 2], values=[3.0, None, 1.0])
_LEARNED = Learned(
    run=Path("runs/x/T-seed1-1"),
    answers=tuple(
        Answer(
            id=f"{kind}", question=f"Is it {kind}?", health=kind, told="so", remedy="type `reprokit doctor`"
        )
        for kind in Health
    ),
    curve=(Point(metric="eval/return_mean", step=1, mean=2.0, std=None),),
    probe=Path("reports/x"),
)


def _study() -> str:
    asked = definition()
    trials = [
        Trial(
            number=at,
            params={"rate": 1e-3 * (at + 1), "width": 8, "kind": "a"},
            state=TrialState.COMPLETE,
            value=float(at),
        )
        for at in range(4)
    ]
    found = studies.as_data(asked.name, asked.as_data(), trials, best=None)
    return study_to_html({**found, "best": 0}, importance={"rate": 0.9})


_PAGES: dict[str, Callable[[], str]] = {
    **{verdict.value: lambda verdict=verdict: to_html(samples.sample_report(verdict)) for verdict in Verdict},
    "verify": lambda: gate_to_html([_GATE], exit_code=1),
    "index": lambda: index_to_html([_ENTRY, dataclasses.replace(_ENTRY, verdict="different", problem="x")]),
    "gate": lambda: to_html(seed_pages.gate_report(samples.sample_report(Verdict.UNJUDGED))),
    "statistics": seed_pages.statistics_page,
    "learning": lambda: learning_to_html(_LEARNED, {"a/loss": _CURVE, "b/loss": _CURVE}),
    "study": _study,
    "diagnosis": lambda: diagnosis_to_html(
        samples.sample_report(Verdict.NONDETERMINISTIC).cause, subject="x", sentence="NONDETERMINISTIC: y"
    ),
}


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    opened = Browser(chromium_binary(), tmp_path_factory.mktemp("profile"))
    yield opened
    opened.close()


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", _PAGES)
def test_axe_finds_nothing(browser: Browser, tmp_path: Path, name: str) -> None:
    page = tmp_path / "page.html"
    page.write_text(_PAGES[name](), encoding="utf-8")
    for width, scheme in ((1280, "light"), (400, "dark")):
        browser.open(page, width=width, scheme=scheme)
        browser.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
        assert browser.violations() == [], (width, scheme)


def test_axe_finds_nothing_in_a_chart_that_is_looked_into(browser: Browser, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(to_html(samples.sample_report(Verdict.REGRESSION)), encoding="utf-8")
    for scheme in ("light", "dark"):
        browser.open(page, width=1280, scheme=scheme)
        for name in ("To the divergence", "Logarithmic", "Difference"):
            browser.evaluate(
                "[...document.querySelectorAll('.tools button')]"
                f".find(one => one.textContent === '{name}').click()"
            )
        browser.evaluate("document.querySelector('.legend button').click()")
        browser.evaluate(
            "document.querySelector('figure svg').dispatchEvent(new KeyboardEvent('keydown', {key: 'End'}))"
        )
        assert browser.violations() == [], scheme


def test_axe_does_find_what_has_no_name_and_too_little_contrast(browser: Browser, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    good = to_html(samples.sample_report(Verdict.REPRODUCED))
    page.write_text(good.replace("<main>", '<main><button type="button"></button>'), encoding="utf-8")
    browser.open(page, width=1280)

    found = browser.violations()

    assert [one.split()[0] for one in found] == ["button-name"]
