"""The HTML page in a real browser: nothing hostile runs, nothing is fetched, it fits and it prints.

Skipped, with the reason, where no Chromium is found; REPROKIT_REQUIRE_BROWSER=1 makes that an error.
"""

from __future__ import annotations

import base64
import http.server
import os
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reprokit.core.checklist import Verdict
from reprokit.reports.formats.to_html import to_html
from support import hostile, seed_pages
from support import sample_report as samples
from support.browser import FLAGS, Browser, chromium_binary

_TIMEOUT_S = 120


@pytest.fixture(scope="module")
def chromium() -> str:
    return chromium_binary()


@pytest.fixture(scope="module")
def browser(chromium: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    opened = Browser(chromium, tmp_path_factory.mktemp("profile"))
    yield opened
    opened.close()


@pytest.fixture
def beacon() -> Iterator[tuple[str, list[str]]]:
    """A web server on this machine that notes every request."""
    seen: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(self.path)
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}", seen
    server.shutdown()
    thread.join()
    server.server_close()


def _dump_dom(chromium: str, page: Path, profile: Path) -> str:
    done = subprocess.run(
        [
            chromium,
            *FLAGS,
            f"--user-data-dir={profile}",
            "--virtual-time-budget=3000",
            "--dump-dom",
            page.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_S,
        check=True,
    )
    return done.stdout


def _page(folder: Path, name: str, text: str) -> Path:
    path = folder / f"{name}.html"
    path.write_text(text, encoding="utf-8")
    return path


def _hostile_page(url: str) -> str:
    """One report whose rows, curves and differences are all the hostile texts."""
    texts = [text.replace("BEACON", url) for text in hostile.TEXTS]
    return to_html(samples.with_rows(samples.sample_report(Verdict.REGRESSION), texts))


def _hostile_bodies(url: str) -> str:
    """The bodies of a report for each hostile text, in every place of it, and no policy to stop them."""
    report = samples.sample_report(Verdict.REGRESSION)
    pages = [to_html(samples.with_text(report, text.replace("BEACON", url))) for text in hostile.TEXTS]
    bodies = "".join(page[page.index("<body>") + 6 : page.index("</body>")] for page in pages)
    return f"<!doctype html><meta charset=utf-8><title>x</title><body>{bodies}</body>"


def test_no_hostile_text_runs_or_fetches_anything(
    chromium: str, tmp_path: Path, beacon: tuple[str, list[str]]
) -> None:
    url, seen = beacon
    page = _page(tmp_path, "hostile", _hostile_bodies(url))

    dom = _dump_dom(chromium, page, tmp_path / "profile")

    assert dom.count("REGRESSION means") == len(hostile.TEXTS)
    assert hostile.MARK not in _attributes_of_root(dom)
    assert seen == []


def test_the_same_texts_do_run_in_a_page_that_does_not_escape_them(
    chromium: str, tmp_path: Path, beacon: tuple[str, list[str]]
) -> None:
    url, seen = beacon
    body = "\n".join(f"<p>{text.replace('BEACON', url)}</p>" for text in hostile.SCRIPTS)
    page = _page(tmp_path, "naive", f"<!doctype html><meta charset=utf-8><title>x</title><body>{body}")

    dom = _dump_dom(chromium, page, tmp_path / "profile")

    assert hostile.MARK in _attributes_of_root(dom)
    assert seen != []


def test_the_policy_alone_stops_scripts_and_fetches_that_were_not_escaped(
    chromium: str, tmp_path: Path, beacon: tuple[str, list[str]]
) -> None:
    url, seen = beacon
    body = "\n".join(f"<p>{text.replace('BEACON', url)}</p>" for text in hostile.SCRIPTS)
    good = to_html(samples.sample_report(Verdict.REPRODUCED))
    page = _page(tmp_path, "unescaped", good.replace("<main>", f"<main>{body}"))

    dom = _dump_dom(chromium, page, tmp_path / "profile")

    assert "REPRODUCED" in dom
    assert hostile.MARK not in _attributes_of_root(dom)
    assert seen == []


def _attributes_of_root(dom: str) -> str:
    """What a script that ran would have changed: the html element's own tag."""
    start = dom.index("<html")
    return dom[start : dom.index(">", start)]


@pytest.mark.sample(3)
@pytest.mark.parametrize("verdict", list(Verdict))
def test_a_report_fits_its_window_and_the_browser_has_no_complaint(
    browser: Browser, tmp_path: Path, verdict: Verdict
) -> None:
    page = _page(tmp_path, verdict, to_html(samples.sample_report(verdict)))
    for width in (400, 1280):
        browser.open(page, width=width)

        assert browser.evaluate(_OVERFLOW) == 0, width
        assert browser.complaints() == []


@pytest.mark.sample(1)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_plots_over_seeds_fit_the_window_and_have_the_colours_of_the_reader(
    browser: Browser, tmp_path: Path, scheme: str
) -> None:
    pages = {
        "statistics": seed_pages.statistics_page(),
        "gate": to_html(seed_pages.gate_report(samples.sample_report(Verdict.UNJUDGED))),
    }
    for name, text in pages.items():
        page = _page(tmp_path, name, text)
        for width in (400, 1280):
            browser.open(page, width=width, scheme=scheme)
            shot = browser.screenshot()
            if keep := os.environ.get("REPROKIT_KEEP_SCREENSHOTS"):
                shot.save(Path(keep) / f"{name}-{width}-{scheme}.png")

            assert browser.evaluate(_OVERFLOW) == 0, (name, width)
            assert browser.complaints() == []
            colour = browser.evaluate(
                "getComputedStyle(document.documentElement).getPropertyValue('--run-0')"
            )
            colours = {colour for _, colour in shot.getcolors(1 << 24)}
            assert tuple(bytes.fromhex(colour.strip()[1:])) in colours


@pytest.mark.sample(1)
@pytest.mark.parametrize("width", [400, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_screenshot_shows_the_verdict_and_the_curves_in_the_scheme_of_the_reader(
    browser: Browser, tmp_path: Path, width: int, scheme: str
) -> None:
    page = _page(tmp_path, "shot", to_html(samples.sample_report(Verdict.REGRESSION)))

    browser.open(page, width=width, scheme=scheme)
    shot = browser.screenshot()
    if keep := os.environ.get("REPROKIT_KEEP_SCREENSHOTS"):
        shot.save(Path(keep) / f"REGRESSION-{width}-{scheme}.png")

    colours = {colour for _, colour in shot.getcolors(1 << 24)}
    wanted = ["--page", "--card", "--ink", "--bad", "--run-0"]
    shown = browser.evaluate(
        f"{wanted}.map(n => getComputedStyle(document.documentElement).getPropertyValue(n))"
    )
    assert shot.width == width
    assert (sum(shot.getpixel((1, 1))) > 600) is (scheme == "light")
    for name, value in zip(wanted, shown, strict=True):
        assert tuple(bytes.fromhex(value.strip()[1:])) in colours, name


@pytest.mark.parametrize("width", [400, 1280])
def test_hostile_text_does_not_break_the_layout(
    browser: Browser, tmp_path: Path, beacon: tuple[str, list[str]], width: int
) -> None:
    url, seen = beacon
    page = _page(tmp_path, "hostile", _hostile_page(url))

    browser.open(page, width=width)

    assert browser.evaluate(_OVERFLOW) == 0
    assert browser.evaluate("document.scripts.length") == 1
    assert browser.evaluate("document.querySelectorAll('img,iframe,object,embed,link,form,a').length") == 0
    assert browser.complaints() == []
    assert seen == []


def test_a_button_copies_its_command_and_without_scripts_there_is_none(
    browser: Browser, tmp_path: Path
) -> None:
    page = _page(tmp_path, "copy", to_html(samples.sample_report(Verdict.REGRESSION)))
    shown = "[...document.querySelectorAll('button.copy')].filter(one => one.offsetParent).length"

    browser.open(page, width=400)
    browser.evaluate("navigator.clipboard.writeText = async text => { window.copied = text; }")
    browser.evaluate("document.querySelector('button.copy').focus(); document.activeElement.click()")

    assert browser.evaluate("copied") == browser.evaluate("document.querySelector('pre.command').textContent")
    assert browser.evaluate(shown) == 2
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(page, width=400)
        assert browser.evaluate(shown) == 0
    finally:
        browser.call("Emulation.setScriptExecutionDisabled", value=False)


def test_text_has_enough_contrast_in_both_schemes(browser: Browser, tmp_path: Path) -> None:
    page = _page(tmp_path, "contrast", to_html(samples.sample_report(Verdict.UNJUDGED)))
    statuses = (".status.passed", ".status.failed", ".status.skipped", ".status.error")
    for scheme in ("light", "dark"):
        browser.open(page, width=1280, scheme=scheme)
        for selector in ("h1", ".sentence", ".kicker", ".label", "dt", "code", *statuses):
            foreground, background = browser.evaluate(_COLOURS.replace("SELECTOR", selector))
            assert _contrast(foreground, background) >= 4.5, (scheme, selector)


def test_the_page_prints_with_every_section_open(browser: Browser, tmp_path: Path) -> None:
    page = _page(tmp_path, "print", to_html(samples.sample_report(Verdict.REGRESSION)))
    browser.open(page, width=1280)
    browser.call("Emulation.setEmulatedMedia", media="print", features=[])

    shown = browser.evaluate(
        "Array.from(document.querySelectorAll('details dd'), d => d.getBoundingClientRect().height > 0)"
    )
    printed = base64.b64decode(browser.call("Page.printToPDF", printBackground=True)["data"])
    browser.call("Emulation.setEmulatedMedia", media="", features=[])

    assert shown
    assert all(shown)
    assert printed.startswith(b"%PDF-")


_OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
_PROPERTY = "getComputedStyle(document.documentElement).getPropertyValue('NAME')"
_COLOURS = """
(() => {
  let element = document.querySelector("SELECTOR");
  const ink = getComputedStyle(element).color;
  let paper = getComputedStyle(element).backgroundColor;
  while (paper === "rgba(0, 0, 0, 0)") {
    element = element.parentElement;
    paper = getComputedStyle(element).backgroundColor;
  }
  return [ink, paper].map(text => text.match(/[\\d.]+/g).slice(0, 3).map(Number));
})()
"""


def _contrast(one: list[float], other: list[float]) -> float:
    """Contrast ratio (WCAG 2.2, https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio)."""

    def luminance(color: list[float]) -> float:
        linear = [
            c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (v / 255 for v in color)
        ]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)
