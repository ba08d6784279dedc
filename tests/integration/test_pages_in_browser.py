"""Every kind of page in a real browser: both widths and colour schemes, with and without script, by keyboard.

What a page is made of is tested beside what makes it; here is what must hold of all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support import hostile
from support.browser import Browser, chromium_binary
from support.page_kinds import PAGES

_OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
_OPEN_ALL = "document.querySelectorAll('details').forEach(one => { one.open = true; })"
_CONTROLS = "document.querySelectorAll('button:not([hidden]), input, select, [role=slider]').length"
#: What a person can reach, by the names that a screen reader says.
_NAME = "(e => e.getAttribute('aria-label') ?? e.textContent.trim())"
_REACHABLE = (
    "[...document.querySelectorAll('a[href], button, input, select, summary, [tabindex=\"0\"]')]"
    f".filter(e => e.checkVisibility() && !e.disabled).map({_NAME})"
)
_FOCUSED = f"{_NAME}(document.activeElement)"
_IS_OUTLINED = "getComputedStyle(document.activeElement).outlineStyle !== 'none'"
_LOOKS = [(width, scheme) for width in (400, 1280) for scheme in ("light", "dark")]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    opened = Browser(chromium_binary(), tmp_path_factory.mktemp("profile"))
    yield opened
    opened.close()


def _written(folder: Path, kind: str, text: str = "") -> Path:
    page = folder / "page.html"
    page.write_text(PAGES[kind](text, folder), encoding="utf-8")
    return page


@contextmanager
def _without_script(browser: Browser) -> Iterator[None]:
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        yield
    finally:
        browser.call("Emulation.setScriptExecutionDisabled", value=False)


def _press(browser: Browser, key: str, code: int) -> None:
    browser.call("Input.dispatchKeyEvent", type="keyDown", key=key, code=key, windowsVirtualKeyCode=code)
    browser.call("Input.dispatchKeyEvent", type="keyUp", key=key, code=key, windowsVirtualKeyCode=code)


@pytest.mark.sample(3)
@pytest.mark.parametrize("kind", PAGES)
def test_a_page_fits_its_window_and_axe_finds_nothing_in_it(
    browser: Browser, tmp_path: Path, kind: str
) -> None:
    page = _written(tmp_path, kind)
    for width, scheme in _LOOKS:
        browser.open(page, width=width, scheme=scheme)
        browser.evaluate(_OPEN_ALL)

        assert browser.evaluate(_OVERFLOW) == 0, (width, scheme)
        assert browser.violations() == [], (width, scheme)
        assert browser.complaints() == [], (width, scheme)


@pytest.mark.sample(3)
@pytest.mark.parametrize("kind", PAGES)
def test_a_page_without_script_says_the_same_and_has_no_control(
    browser: Browser, tmp_path: Path, kind: str
) -> None:
    page = _written(tmp_path, kind)
    browser.open(page, width=1280)
    facts = (
        "[document.querySelector('h1').textContent, document.querySelectorAll('tbody tr').length, "
        "document.querySelectorAll('figure, .spark').length]"
    )
    with_script = browser.evaluate(facts)
    with _without_script(browser):
        for width, scheme in _LOOKS:
            browser.open(page, width=width, scheme=scheme)
            browser.evaluate(_OPEN_ALL)

            assert browser.evaluate(facts) == with_script, (width, scheme)
            assert browser.evaluate(_CONTROLS) == 0, (width, scheme)
            assert browser.evaluate(_OVERFLOW) == 0, (width, scheme)


@pytest.mark.sample(1)
@pytest.mark.parametrize("kind", PAGES)
def test_axe_finds_nothing_in_a_page_whose_script_was_taken_out(
    browser: Browser, tmp_path: Path, kind: str
) -> None:
    page = _written(tmp_path, kind)
    whole = page.read_text(encoding="utf-8")
    start, end = whole.index("<script>"), whole.index("</script>")
    page.write_text(whole[:start] + whole[end + len("</script>") :], encoding="utf-8")
    for width, scheme in ((400, "light"), (1280, "dark")):
        browser.open(page, width=width, scheme=scheme)
        browser.evaluate(_OPEN_ALL)

        assert browser.violations() == [], (width, scheme)


@pytest.mark.sample(3)
@pytest.mark.parametrize("kind", PAGES)
def test_tab_alone_reaches_everything_and_shows_where_one_is(
    browser: Browser, tmp_path: Path, kind: str
) -> None:
    for width in (400, 1280):
        browser.open(_written(tmp_path, kind), width=width)
        wanted = browser.evaluate(_REACHABLE)
        reached = []
        for _ in wanted:
            _press(browser, "Tab", 9)
            reached.append(browser.evaluate(_FOCUSED))
            assert browser.evaluate(_IS_OUTLINED), reached[-1]

        assert reached == wanted


@pytest.mark.parametrize("kind", ["report", "gate", "compare", "stats", "sweep", "tune", "learning"])
def test_arrow_keys_say_the_values_of_every_chart(browser: Browser, tmp_path: Path, kind: str) -> None:
    browser.open(_written(tmp_path, kind), width=1280)
    browser.evaluate(_OPEN_ALL)
    sliders = browser.evaluate("document.querySelectorAll('[role=slider]').length")
    for number in range(sliders):
        slider = f"document.querySelectorAll('[role=slider]')[{number}]"
        browser.evaluate(f"{slider}.focus()")
        said = []
        for key, code in (("Home", 36), ("ArrowRight", 39)):
            _press(browser, key, code)
            said.append(browser.evaluate(f"{slider}.getAttribute('aria-valuetext')"))
            shown = f"{slider}.closest('figure').querySelector('.readout').checkVisibility()"
            assert browser.evaluate(shown)

        assert len(set(said)) == 2, said
        assert all(any(letter.isdigit() for letter in text) for text in said)
    assert sliders


@pytest.mark.sample(2)
@pytest.mark.parametrize("kind", PAGES)
def test_hostile_names_and_values_stay_text(browser: Browser, tmp_path: Path, kind: str) -> None:
    texts = [
        "".join(hostile.SCRIPTS),
        *hostile.SCRIPTS[:2],
        *hostile.TERMINAL[:3],
        hostile.INVISIBLE[0],
        "x" * 3000,
    ]
    for text in texts:
        browser.open(_written(tmp_path, kind, text), width=400)
        browser.evaluate("document.querySelectorAll('button').forEach(one => one.click())")
        browser.evaluate(
            "document.querySelectorAll('[role=slider]').forEach(one => one.dispatchEvent("
            "new KeyboardEvent('keydown', {key: 'End'})))"
        )

        assert browser.evaluate("document.scripts.length") == 1, text
        assert browser.evaluate("document.querySelectorAll('img,iframe,object,embed,link,form').length") == 0
        assert hostile.MARK not in browser.evaluate("document.documentElement.cloneNode(false).outerHTML")
        assert browser.evaluate(_OVERFLOW) == 0, text
        assert browser.complaints() == [], text


def test_each_seed_is_laid_over_the_mean_and_taken_away_with_it(browser: Browser, tmp_path: Path) -> None:
    browser.open(_written(tmp_path, "stats"), width=1280)
    seeds = "document.querySelector('figure[data-chart]').querySelectorAll('polyline.seed').length"
    buttons = "[...document.querySelectorAll('.tools button, .legend button')]"
    click = f"{buttons}.find(e => e.textContent.trim() === {{}}).click()"

    assert browser.evaluate(seeds) == 0
    browser.evaluate(click.format("'Each seed'"))
    assert browser.evaluate(seeds) == 10
    browser.evaluate(click.format("'train'"))
    assert browser.evaluate(seeds) == 5
    browser.evaluate(click.format("'Each seed'"))
    browser.evaluate(click.format("'train'"))
    assert browser.evaluate(seeds) == 0


def test_a_zoom_into_curves_over_seeds_keeps_their_bands(browser: Browser, tmp_path: Path) -> None:
    browser.open(_written(tmp_path, "stats"), width=1280)
    bands = "document.querySelector('figure[data-chart]').querySelectorAll('polygon.band').length"

    browser.evaluate(
        "[...document.querySelectorAll('.tools button')].find(e => e.textContent === 'Zoom in').click()"
    )

    assert browser.evaluate(bands) == 2
    assert (
        browser.evaluate("document.querySelector('.tools [role=status]').textContent")
        == "steps 9,750 to 29,250"
    )
    browser.evaluate("document.querySelector('[role=slider]').focus()")
    _press(browser, "Home", 36)
    said = browser.evaluate("document.querySelector('[role=slider]').getAttribute('aria-valuetext')")
    assert said.startswith("step 10,000, train ")
    assert " to " in said


def test_the_best_trial_is_named_first_with_its_settings(browser: Browser, tmp_path: Path) -> None:
    browser.open(_written(tmp_path, "tune"), width=1280)
    sentence = browser.evaluate("document.querySelector('.sentence').textContent")
    across = "document.querySelector('svg[data-walk][role=slider]')"
    browser.evaluate(f"{across}.focus()")

    _press(browser, "Home", 36)

    said = browser.evaluate(f"{across}.getAttribute('aria-valuetext')")
    number = said.partition(":")[0].removeprefix("trial ")
    assert f"Trial {number} is the best" in sentence
    assert "rate = " in said
    assert browser.evaluate("document.querySelectorAll('.member.chosen').length") == 1
