"""The answer of `reprokit diagnose` on one screen: where two runs differ, the line of code, and the fix.

About 30 lines, and no sentence is cut; the page next to ``diagnosis.json`` has the rest. Every ``found`` is a
``harness.diagnosing`` answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from reprokit import extras
from reprokit.core.verdicts.rows import counted
from reprokit.reports import shorten
from reprokit.reports.escaping import one_line
from reprokit.reports.pages import diagnosis_page
from reprokit.reports.pages.cause import CauseCard, CausePage, cause_page
from reprokit.reports.terminal.terminal_lines import (
    MOST_LINES,
    TerminalLine,
    cut,
    fact_lines,
    place_lines,
    steps,
    wrapped,
)
from reprokit.reports.terminal.terminal_style import Style, draw_lines, writable

_MOST_MORE_CAUSES = 2
_MOST_KNOWN = 3
_LINES_OF_DATA = 2
_LINES_OF_FIX = 2  # of a further cause: the page has it whole
_IN_DIVERGENCE = ("still equal", "first metric", "step", "one run", "the other")
_TITLES = {"high": "Cause", "medium": "Cause, probably", "low": "Suspected cause"}


def draw(found: Any, *, subject: str, root: Path, again: Sequence[str], style: Style) -> str:
    """The screen as text that ends with a line end, in the style that the stream can show."""
    tone = {"NONDETERMINISTIC": "bad", "UNJUDGED": "unknown"}.get(found.verdict, "good")
    lines = screen(found, subject=subject, root=root, again=again, width=style.width)
    return writable(draw_lines(lines, style=style, tone=tone), style=style)


def screen(found: Any, *, subject: str, root: Path, again: Sequence[str], width: int) -> list[TerminalLine]:
    """The lines of the screen, paths relative to ``root``; ``again`` are commands that show it again."""
    page = cause_page(shorten.below(found.as_data(), str(root)))
    assert page is not None  # noqa: S101 - it is None for no answer only
    above = [
        *_verdict(found, subject=subject, root=root, width=width),
        *_causes(found, page, width=width),
        *_proposed(page, width=width),
    ]
    below = [*_rest(page, width=width), *_where_to_look(found, again=again, root=root, width=width)]
    between: list[TerminalLine] = []
    for part in (_first(page, width=width), _known(page, width=width)):
        lines = list(part)
        if len(above) + len(between) + len(lines) + len(below) <= MOST_LINES:
            between += lines
    return [*above, *between, *below]


def _verdict(found: Any, *, subject: str, root: Path, width: int) -> Iterator[TerminalLine]:
    about = one_line(f"{subject} · {counted(found.runs, 'run')}")
    for text in wrapped(about, width=width, lead=f"{found.verdict}  "):
        yield TerminalLine(text=text, tone="verdict")
    sentence = shorten.without(PurePosixPath(root))(diagnosis_page.what_differs(found))
    for text in wrapped(f"{sentence[:1].upper()}{sentence[1:]}.", width=width):
        yield TerminalLine(text=text)
    if found.provisional:
        for text in wrapped(one_line(f"provisional: {found.provisional}"), width=width):
            yield TerminalLine(text=text)


def _causes(found: Any, page: CausePage, *, width: int) -> Iterator[TerminalLine]:
    if found.divergence is None:
        return
    yield TerminalLine(text="")
    if not page.cards:
        yield TerminalLine(text="Cause", tone="title")
        yield TerminalLine(text="  unknown: no experiment shows one")
        return
    first, *others = page.cards
    title = _TITLES.get(first.confidence, "Cause")
    if others:
        title = f"{title.replace('ause', 'auses')} ({len(page.cards)}, all to be fixed)"
    yield TerminalLine(text=title, tone="title")
    yield from _cause(first, width=width)
    if first.confidence != "high":
        for text in wrapped(diagnosis_page.confidence_text(found.cause), width=width, lead="  "):
            yield TerminalLine(text=text, tone="dim")
    for card in others[:_MOST_MORE_CAUSES]:
        told = f"and {card.category} at {card.place}: {card.source or card.what}"
        yield from (TerminalLine(text=text) for text in wrapped(told, width=width, lead="  "))
        fix = list(wrapped(card.fix, width=width, lead="    → ")) if card.fix else []
        if len(fix) <= _LINES_OF_FIX:
            yield from (TerminalLine(text=text) for text in fix)
    if len(others) > _MOST_MORE_CAUSES:
        yield TerminalLine(text=f"  and {counted(len(others) - _MOST_MORE_CAUSES, 'more cause')}", tone="dim")


def _proposed(page: CausePage, *, width: int) -> Iterator[TerminalLine]:
    for one in page.proposals:
        yield TerminalLine(text="")
        yield TerminalLine(text=f"Proposed by {one.by}", tone="title")
        told = f"not asked: {one.problem}" if one.problem else f"at {one.place}: {one.what}"
        for text in wrapped(f"{one.category} {told}", width=width, lead="  "):
            yield TerminalLine(text=text)
        if not one.problem:
            for text in wrapped(one.fix, width=width, lead="  → "):
                yield TerminalLine(text=text, tone="hint")
            for text in wrapped(f"confidence {one.standing}", width=width, lead="  "):
                yield TerminalLine(text=text, tone="dim")


def _cause(card: CauseCard, *, width: int) -> Iterator[TerminalLine]:
    inside = f", in {card.function}" if card.function and not card.function.startswith("<") else ""
    for text in wrapped(f"{card.category} at {card.place}{inside}", width=width, lead="  "):
        yield TerminalLine(text=text)
    if card.source:
        yield TerminalLine(text=cut(f"  │ {card.source}", width=width), tone="code")
    for text in wrapped(card.what, width=width, lead="  "):
        yield TerminalLine(text=text)
    if card.fix:
        for text in wrapped(card.fix, width=width, lead="  → "):
            yield TerminalLine(text=text, tone="hint")


def _first(page: CausePage, *, width: int) -> Iterator[TerminalLine]:
    facts = [fact for fact in page.first if fact[0].startswith(_IN_DIVERGENCE)]
    return fact_lines("First divergence", facts, width=width, most_of_value=_LINES_OF_DATA)


def _known(page: CausePage, *, width: int) -> Iterator[TerminalLine]:
    if not page.known:
        return
    yield TerminalLine(text="")
    yield TerminalLine(text="Known", tone="title")
    for one in page.known[:_MOST_KNOWN]:
        for text in wrapped(one, width=width, lead="  "):
            yield TerminalLine(text=text)


def _rest(page: CausePage, *, width: int) -> Iterator[TerminalLine]:
    """How much there is that the screen leaves out."""
    counts = (
        (len(page.ruled_out), "ruled out"),
        (len(page.not_varied), "not varied"),
        (len(page.limits), "not observed"),
        (max(0, len(page.known) - _MOST_KNOWN), "more known"),
    )
    left_out = ", ".join(f"{count} {what}" for count, what in counts if count)
    if left_out:
        yield TerminalLine(text="")
        for text in wrapped(f"{left_out} (diagnosis.html shows everything)", width=width):
            yield TerminalLine(text=text, tone="dim")


def _where_to_look(found: Any, *, again: Sequence[str], root: Path, width: int) -> Iterator[TerminalLine]:
    yield TerminalLine(text="")
    for one in again:
        yield from steps("Run again", one_line(one), width=width)
    name = "diagnosis.html" if extras.is_installed("jinja2") else "diagnosis.json"
    place = shorten.without(PurePosixPath(root))(found.folder / name)
    yield from (TerminalLine(text=text) for text in place_lines("Report:", one_line(place), width=width))
