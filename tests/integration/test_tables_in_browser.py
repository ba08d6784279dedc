"""Tables of a page in a real browser: searched, filtered and sorted; whole without script."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from reprokit.reports.formats.html_tables import html_table
from reprokit.reports.formats.to_html import WITH_TABLES
from reprokit.reports.formats.to_html import page as drawn
from reprokit.reports.pages.index_page import IndexEntry, index_to_html
from support import hostile
from support.browser import Browser, chromium_binary

_ROWS = "[...document.querySelectorAll('tbody tr')].filter(row => !row.hidden)"
_DAYS = f"{_ROWS}.map(row => row.cells[0].textContent.slice(8, 10))"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    opened = Browser(chromium_binary(), tmp_path_factory.mktemp("profile"))
    yield opened
    opened.close()


def _entry(day: int, recipe: str, verdict: str, sentence: str = "2 runs agree.") -> IndexEntry:
    return IndexEntry(
        recipe=recipe,
        verdict=verdict,
        created_at=f"2026-11-{day:02}T10:00:00Z",
        place=f"{recipe}/{day}/report.html",
        sentence=sentence,
    )


_ENTRIES = [
    _entry(1, "pinpad", "REPRODUCED"),
    _entry(2, "cartpole", "REGRESSION", "2 runs differ from step 9 on."),
    _entry(3, "cartpole", "REPRODUCED"),
]


def _open(browser: Browser, folder: Path, entries: list[IndexEntry], width: int = 1280) -> None:
    page = folder / "index.html"
    page.write_text(index_to_html(entries), encoding="utf-8")
    browser.open(page, width=width)


def _choose(browser: Browser, name: str, value: str) -> None:
    browser.evaluate(
        f"""(() => {{
          const select = document.querySelector('select[aria-label={name}]');
          select.value = {json.dumps(value)};
          select.dispatchEvent(new Event('change'));
        }})()"""
    )


def test_reports_are_filtered_by_recipe_and_by_verdict_and_searched(browser: Browser, tmp_path: Path) -> None:
    _open(browser, tmp_path, _ENTRIES)
    assert browser.evaluate(_DAYS) == ["03", "02", "01"]

    _choose(browser, "Verdict", "REPRODUCED")
    assert browser.evaluate(_DAYS) == ["03", "01"]
    _choose(browser, "Recipe", "cartpole")
    assert browser.evaluate(_DAYS) == ["03"]
    assert browser.evaluate("document.querySelector('[role=status]').textContent") == "1 of 3 rows"
    _choose(browser, "Verdict", "")
    _choose(browser, "Recipe", "")
    browser.evaluate("document.querySelector('input[type=search]').focus()")
    for letter in "STEP 9":
        browser.call("Input.dispatchKeyEvent", type="char", text=letter)
    assert browser.evaluate(_DAYS) == ["02"]


@pytest.mark.parametrize("width", [400, 1280])
def test_a_column_sorts_up_then_down_by_keyboard(browser: Browser, tmp_path: Path, width: int) -> None:
    _open(browser, tmp_path, _ENTRIES, width)
    head = "document.querySelectorAll('th')[1]"

    browser.evaluate(f"{head}.querySelector('button').focus(); document.activeElement.click()")
    assert browser.evaluate(f"{head}.getAttribute('aria-sort')") == "ascending"
    assert browser.evaluate(_DAYS) == ["03", "02", "01"]
    browser.evaluate(f"{head}.querySelector('button').click()")
    assert browser.evaluate(f"{head}.getAttribute('aria-sort')") == "descending"
    assert browser.evaluate(_DAYS)[0] == "01"
    assert browser.evaluate(f"{head}.querySelector('button').getBoundingClientRect().width") > 0
    assert browser.violations() == []


def test_numbers_are_sorted_by_size_and_what_has_none_comes_last(browser: Browser, tmp_path: Path) -> None:
    cells = [["value"], ["1,200"], [""], ["9"], ["-3.5 [-4, -3]"], ["2e-05"], ["<i>no</i>"]]
    facts = {"tone": "plain", "title": "x", "sentence": "x", "remarks": ()}
    page = tmp_path / "cells.html"
    page.write_text(
        drawn(
            "matrix.html.jinja",
            scripts=WITH_TABLES,
            matrix=html_table([["a"]]),
            cells=html_table(cells),
            **facts,
        )
    )
    browser.open(page, width=1280)
    shown = "[...document.querySelectorAll('[data-tools] tbody tr')].map(row => row.textContent)"

    browser.evaluate("document.querySelector('.sort').click()")
    assert browser.evaluate(shown) == ["-3.5 [-4, -3]", "2e-05", "9", "1,200", "-", "<i>no</i>"]
    browser.evaluate("document.querySelector('.sort').click()")
    assert browser.evaluate(shown) == ["1,200", "9", "2e-05", "-3.5 [-4, -3]", "-", "<i>no</i>"]


def test_without_scripts_every_row_is_there_newest_first(browser: Browser, tmp_path: Path) -> None:
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        _open(browser, tmp_path, _ENTRIES)
        assert browser.evaluate(_DAYS) == ["03", "02", "01"]
        assert browser.evaluate("document.querySelectorAll('input, select, button').length") == 0
    finally:
        browser.call("Emulation.setScriptExecutionDisabled", value=False)


def test_hostile_names_stay_text_in_rows_and_lists(browser: Browser, tmp_path: Path) -> None:
    _open(browser, tmp_path, [_entry(1, text, text, text) for text in hostile.TEXTS], width=400)

    browser.evaluate("document.querySelectorAll('.sort').forEach(one => one.click())")
    _choose(browser, "Verdict", "")

    assert browser.evaluate("document.scripts.length") == 1
    assert browser.evaluate("document.querySelectorAll('img,iframe,object,embed,link,form').length") == 0
    assert browser.evaluate("[...document.links].every(one => one.protocol === 'file:')")
    assert hostile.MARK not in browser.evaluate("document.documentElement.cloneNode(false).outerHTML")
    assert (
        browser.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") == 0
    )
    assert browser.complaints() == []
