"""The charts of a page in a real browser: what its script adds, and what the page has without it."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reprokit.core.checklist import Report, Verdict
from reprokit.core.comparing.difference import Divergence
from reprokit.core.report_parts import DrawnCurve
from reprokit.reports.formats.to_html import to_html
from support import hostile
from support import sample_report as samples
from support.browser import Browser, chromium_binary

_KEYS = {"ArrowRight": 39, "ArrowLeft": 37, "Home": 36, "End": 35, "PageDown": 34, "PageUp": 33, "Escape": 27}
_OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
_FIRST = "document.querySelector('figure[data-chart]')"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    opened = Browser(chromium_binary(), tmp_path_factory.mktemp("profile"))
    yield opened
    opened.close()


def _curve(label: str, values: list[float | None]) -> DrawnCurve:
    return DrawnCurve(label=label, steps=[10 * at for at in range(len(values))], values=values)


_GOLDEN = [0.1 + 0.7 * at for at in range(50)]
_RUN = [value if at < 30 else value + 1e-9 for at, value in enumerate(_GOLDEN)]


def _report(**curves: list[DrawnCurve]) -> Report:
    found = curves or {
        "loss": [_curve("run 1", [*_RUN]), _curve("golden", [*_GOLDEN])],
        "return": [_curve("run 1", [-5.0, 0.0, 1e-7, 1.0, 1000.0])],
    }
    divergence = Divergence(record=30, step=300, metric="loss", expected=_GOLDEN[30], actual=_RUN[30])
    return dataclasses.replace(samples.sample_report(Verdict.REGRESSION), curves=found, divergence=divergence)


def _open(browser: Browser, folder: Path, report: Report, **size: Any) -> None:
    page = folder / "report.html"
    page.write_text(to_html(report), encoding="utf-8")
    browser.open(page, **({"width": 1280} | size))


def _press(browser: Browser, *keys: str) -> None:
    for key in keys:
        text = {} if key in _KEYS else {"text": key}
        browser.call(
            "Input.dispatchKeyEvent", type="keyDown", key=key, windowsVirtualKeyCode=_KEYS.get(key, 0), **text
        )
        browser.call("Input.dispatchKeyEvent", type="keyUp", key=key)


def _focus(browser: Browser, figure: str = _FIRST) -> None:
    browser.evaluate(f"{figure}.querySelector('svg').focus()")


def _told(browser: Browser, figure: str = _FIRST) -> str:
    return str(browser.evaluate(f"{figure}.querySelector('svg').getAttribute('aria-valuetext')"))


def _click(browser: Browser, button: str) -> None:
    browser.evaluate(
        "[...document.querySelectorAll('.tools button, .legend button')]"
        f".find(one => one.textContent.trim() === '{button}').click()"
    )


def _place(browser: Browser, share: float) -> dict[str, float]:
    """A point of the first chart's plot, so far across it."""
    return dict(
        browser.evaluate(
            f"""(() => {{
              const svg = {_FIRST}.querySelector('svg');
              svg.scrollIntoView({{block: 'center'}});
              const box = svg.getBoundingClientRect(), scale = box.width / 480;
              const axis = svg.querySelector('.axis');
              const [left, right] = ['x1', 'x2'].map(name => Number(axis.getAttribute(name)));
              return {{x: box.left + (left + {share} * (right - left)) * scale, y: box.top + 90 * scale}};
            }})()"""
        )
    )


def test_the_pointer_shows_the_exact_values_of_every_line_and_their_difference(
    browser: Browser, tmp_path: Path
) -> None:
    _open(browser, tmp_path, _report())

    browser.call("Input.dispatchMouseEvent", type="mouseMoved", **_place(browser, 40 / 49))

    rows = browser.evaluate(f"[...{_FIRST}.querySelectorAll('.readout div')].map(row => row.textContent)")
    assert browser.evaluate(f"{_FIRST}.querySelector('.readout b').textContent") == "step 400"
    values = {name: float(text) for name, text in (row.rsplit(" ", 1) for row in rows)}
    assert values == {"golden": _GOLDEN[40], "run 1": _RUN[40], "run 1 − golden": _RUN[40] - _GOLDEN[40]}


def test_arrow_keys_walk_over_the_records_and_say_each(browser: Browser, tmp_path: Path) -> None:
    _open(browser, tmp_path, _report())
    _focus(browser)

    for keys, step in (
        (["Home"], 0),
        (["ArrowRight", "ArrowRight"], 20),
        (["End"], 490),
        (["ArrowLeft"], 480),
    ):
        _press(browser, *keys)
        assert _told(browser).startswith(f"step {step}, golden {_GOLDEN[step // 10]!r}, run 1 "), keys
    assert browser.evaluate("document.activeElement.getAttribute('role')") == "slider"
    _press(browser, "Escape")
    assert browser.evaluate(f"{_FIRST}.querySelector('.readout').hidden")


def test_tab_alone_reaches_every_control_and_every_open_chart(browser: Browser, tmp_path: Path) -> None:
    _open(browser, tmp_path, samples.sample_report(Verdict.REGRESSION))
    reached = set()
    for _ in range(60):
        browser.call("Input.dispatchKeyEvent", type="keyDown", key="Tab", code="Tab", windowsVirtualKeyCode=9)
        reached.add(
            browser.evaluate(
                "(e => e.getAttribute('aria-label') ?? e.textContent.trim())(document.activeElement)"
            )
        )

    assert {"golden", "run 1", "To the divergence", "Logarithmic", "Difference", "Search metrics"} <= reached
    assert sum(label.startswith("Values of ") for label in reached) == 4


def test_to_the_divergence_shows_ten_records_on_either_side_in_every_chart(
    browser: Browser, tmp_path: Path
) -> None:
    _open(browser, tmp_path, _report())
    whole = browser.evaluate(f"{_FIRST}.querySelector('svg').innerHTML")

    _click(browser, "To the divergence")

    assert (
        browser.evaluate("document.querySelector('.tools [role=status]').textContent") == "steps 200 to 400"
    )
    assert _told(browser).startswith("step 300, ")
    marker = browser.evaluate(f"Number({_FIRST}.querySelector('.marker').getAttribute('x1'))")
    left, right = browser.evaluate(
        f"['x1', 'x2'].map(n => Number({_FIRST}.querySelector('.axis').getAttribute(n)))"
    )
    assert marker == pytest.approx((left + right) / 2)
    assert browser.evaluate(f"{_FIRST}.querySelectorAll('circle.run-0').length") == 23
    _click(browser, "All records")
    assert browser.evaluate(f"{_FIRST}.querySelector('svg').innerHTML") == whole


def test_a_drag_zooms_and_a_double_click_shows_all_again(browser: Browser, tmp_path: Path) -> None:
    _open(browser, tmp_path, _report())
    status = "document.querySelector('.tools [role=status]').textContent"

    start, end = _place(browser, 0.5), _place(browser, 0.75)
    browser.call("Input.dispatchMouseEvent", type="mousePressed", button="left", clickCount=1, **start)
    browser.call("Input.dispatchMouseEvent", type="mouseMoved", button="left", **end)
    assert browser.evaluate("document.querySelectorAll('.selection').length") == 1
    browser.call("Input.dispatchMouseEvent", type="mouseReleased", button="left", clickCount=1, **end)
    low, high = (
        float(word.replace(",", "")) for word in browser.evaluate(status).split() if word[0].isdigit()
    )

    assert low == pytest.approx(245, abs=3)
    assert high == pytest.approx(367.5, abs=3)
    assert browser.evaluate("document.querySelectorAll('.selection').length") == 0
    browser.evaluate(f"{_FIRST}.querySelector('svg').dispatchEvent(new MouseEvent('dblclick'))")
    assert browser.evaluate(status) == ""


def test_keys_zoom_around_the_record_that_is_shown(browser: Browser, tmp_path: Path) -> None:
    _open(browser, tmp_path, _report())
    _focus(browser)
    status = "document.querySelector('.tools [role=status]').textContent"

    _press(browser, "End", "+")
    assert browser.evaluate(status) == "steps 245 to 490"
    assert _told(browser).startswith("step 490, ")
    _press(browser, "0")
    assert browser.evaluate(status) == ""
    _press(browser, "d")
    assert browser.evaluate(status) == "steps 200 to 400"


def test_a_logarithmic_scale_has_powers_of_ten_and_says_what_has_no_logarithm(
    browser: Browser, tmp_path: Path
) -> None:
    _open(browser, tmp_path, _report())
    second = "document.querySelectorAll('figure[data-chart]')[1]"

    _click(browser, "Logarithmic")

    ticks = browser.evaluate(
        f"[...{second}.querySelectorAll('text[text-anchor=end]')].map(one => one.textContent)"
    )
    assert ticks[0] == "1e-07"
    assert all(tick.startswith("1e") for tick in ticks)
    assert browser.evaluate(f"{second}.querySelector('.chart-note').textContent") == (
        "2 values are not above 0 and have no logarithm."
    )
    assert browser.evaluate("document.querySelector('[aria-pressed=true].tool').textContent") == "Logarithmic"


def test_a_difference_is_drawn_from_the_golden_and_where_it_is_zero_the_line_lies_on_zero(
    browser: Browser, tmp_path: Path
) -> None:
    _open(browser, tmp_path, _report())

    _click(browser, "Difference")

    assert browser.evaluate(f"{_FIRST}.querySelector('.chart-note').textContent") == "Difference from golden."
    heights = browser.evaluate(
        f"{_FIRST}.querySelector('polyline').getAttribute('points').split(' ')"
        ".map(one => Number(one.split(',')[1]))"
    )
    assert len(set(heights[:30])) == 1
    assert max(heights[30:]) < heights[0]
    assert browser.evaluate(f"{_FIRST}.querySelectorAll('polyline.golden').length") == 0


def test_metrics_are_searched_and_chosen(browser: Browser, tmp_path: Path) -> None:
    _open(browser, tmp_path, samples.sample_report(Verdict.REGRESSION))
    shown = (
        "[...document.querySelectorAll('figure[data-chart]')].filter(one => !one.hidden)"
        ".map(one => one.querySelector('figcaption').firstChild.textContent.trim())"
    )

    browser.evaluate("document.querySelector('.tools input').focus()")
    for letter in "LOSSES/p":
        browser.call("Input.dispatchKeyEvent", type="char", text=letter)

    assert browser.evaluate(shown) == ["losses/policy_loss"]
    assert (
        browser.evaluate("document.querySelector('.choice summary').textContent")
        == "Choose metrics: 1 of 6 shown"
    )
    assert browser.evaluate("[...document.querySelectorAll('details.equal')].every(one => one.hidden)")
    browser.evaluate(
        "document.querySelector('.tools input').value = ''; document.querySelector('.boxes input').click()"
    )
    assert browser.evaluate(shown) == []
    browser.evaluate("document.querySelectorAll('.boxes input')[2].click()")
    assert len(browser.evaluate(shown)) == 1


def test_a_line_is_taken_away_and_brought_back_by_its_name(browser: Browser, tmp_path: Path) -> None:
    _open(browser, tmp_path, _report())
    lines = f"{_FIRST}.querySelectorAll('polyline.golden').length"

    _click(browser, "golden")
    assert browser.evaluate(lines) == 0
    _click(browser, "golden")
    assert browser.evaluate(lines) == 1


def test_without_scripts_the_page_has_the_drawings_and_their_values_and_no_control(
    browser: Browser, tmp_path: Path
) -> None:
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        _open(browser, tmp_path, _report())
        assert browser.evaluate("document.querySelectorAll('.tools, .readout, .legend button').length") == 0
        assert browser.evaluate(f"{_FIRST}.querySelector('svg').getAttribute('role')") == "img"
        titles = browser.evaluate(
            f"[...{_FIRST}.querySelectorAll('.stop title')].map(one => one.textContent)"
        )
        assert f"step 400: run 1 {_RUN[40]!r}, golden {_GOLDEN[40]!r}" in titles
    finally:
        browser.call("Emulation.setScriptExecutionDisabled", value=False)


def test_hostile_names_and_values_stay_text_in_every_control(browser: Browser, tmp_path: Path) -> None:
    curves = {
        text: [
            _curve(text, [0.0, 1.0, math.nan, 5e-324]),
            _curve(f"golden {text}", [1e308, None, -1e308, 1.0]),
        ]
        for text in hostile.TEXTS
        if text.strip()
    }
    for width in (400, 1280):
        _open(browser, tmp_path, _report(**curves), width=width)
        for button in ("To the divergence", "Zoom in", "Logarithmic", "Difference"):
            if button != "To the divergence" or browser.evaluate("!!document.querySelector('.marker')"):
                _click(browser, button)
        browser.evaluate("document.querySelectorAll('.legend button').forEach(one => one.click())")
        _click(browser, "Zoom out")
        _focus(browser)
        _press(browser, "Home", "ArrowRight", "PageDown", "End")

        assert browser.evaluate("document.scripts.length") == 1
        assert (
            browser.evaluate("document.querySelectorAll('img,iframe,object,embed,link,form,a').length") == 0
        )
        assert hostile.MARK not in browser.evaluate("document.documentElement.cloneNode(false).outerHTML")
        assert browser.evaluate(_OVERFLOW) == 0
        assert browser.complaints() == []


def test_values_of_every_size_arrive_exactly(browser: Browser, tmp_path: Path) -> None:
    values = [
        5e-324,
        1.7976931348623157e308,
        -0.1,
        1 / 3,
        2.0**53 + 2,
        1e21,
        0.30000000000000004,
        123456789.125,
    ]
    _open(browser, tmp_path, _report(loss=[_curve("run 1", [*values])]))
    _focus(browser)

    _press(browser, "Home")
    found = [float(_told(browser).rsplit(" ", 1)[1])]
    for _ in values[1:]:
        _press(browser, "ArrowRight")
        found.append(float(_told(browser).rsplit(" ", 1)[1]))

    assert found == values


def test_a_printed_page_has_no_controls(browser: Browser, tmp_path: Path) -> None:
    _open(browser, tmp_path, _report())
    browser.call("Emulation.setEmulatedMedia", media="print", features=[])
    shown = browser.evaluate(
        "[...document.querySelectorAll('.tools, .keys, .readout')].filter(one => one.offsetParent).length"
    )
    browser.call("Emulation.setEmulatedMedia", media="", features=[])

    assert shown == 0
