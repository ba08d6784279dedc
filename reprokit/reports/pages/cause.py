"""Why two runs differ, ready to be drawn: what `reprokit diagnose` found, with all text escaped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from reprokit.core.extension_record import ReportedProposal
from reprokit.core.verdicts.rows import counted
from reprokit.reports.escaping import Visible, one_line
from reprokit.reports.format_values import Facts, value_text

_MOST_TAPS = 40
_MOST_ROWS = 60
_DIFFERS = "NONDETERMINISTIC"
_TONES = {_DIFFERS: "bad", "UNJUDGED": "unknown"}
_CARD_TEXTS = ("function", "source", "what", "fix", "confidence")


@dataclass(frozen=True, slots=True, kw_only=True)
class CauseCard:
    """One cause."""

    category: Visible
    place: Visible
    function: Visible
    source: Visible  # the line of code; empty where it is not known
    around: tuple[tuple[Visible, Visible, bool], ...]  # number, text, and whether it is that line
    what: Visible
    fix: Visible
    confidence: Visible


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalCard:
    """A cause that an extension proposes, or why it was not asked."""

    by: Visible
    category: Visible
    place: Visible
    what: Visible
    fix: Visible
    standing: Visible
    problem: Visible


@dataclass(frozen=True, slots=True, kw_only=True)
class TapRow:
    """One line of the program whose values depend on its conditions."""

    category: Visible
    place: Visible
    what: Visible
    count: Visible
    differs: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CausePage:
    """The section on a cause."""

    headline: Visible  # the answer in one sentence
    tone: str  # `bad` if runs differ, `good` if they do not, `unknown` if nothing can be said
    first: Facts  # where the runs first differ
    values: tuple[Visible, Visible, Visible, Visible] | None  # metric, step, and the value of either run
    tried: tuple[tuple[Visible, Visible, Visible], ...]  # experiments: how many runs, of what, how they ended
    cards: tuple[CauseCard, ...]  # the causes
    proposals: tuple[ProposalCard, ...]  # what extensions propose
    odds: Visible  # how often pairs of runs differed, and runs repeated another one; empty where none did
    known: tuple[Visible, ...]  # further findings, in the order in which they were made
    ruled_out: Facts  # what is not a cause, and how that is known
    not_varied: Facts  # what was not varied, and why
    limits: tuple[Visible, ...]  # what could not be recorded of this program
    taps: tuple[TapRow, ...]  # lines whose values depend on their conditions
    num_taps_cut: int  # how many more there are
    replay: tuple[Visible, ...]  # commands that reproduce the difference
    made: Facts  # how many runs were made, and where they are


def cause_page(found: Mapping[str, Any] | None) -> CausePage | None:
    """The section on what ``reprokit diagnose --json`` prints, or on ``problem`` alone; else None."""
    if not found:
        return None
    cards = tuple(map(_card, found.get("causes") or ()))
    taps = sorted(found.get("taps") or (), key=lambda one: one.get("differs") is not True)
    return CausePage(
        headline=_headline(found, cards),
        tone="unknown" if found.get("problem") else _TONES.get(str(found.get("verdict")), "good"),
        first=_first(found),
        values=_values(found.get("divergence") or {}),
        tried=tuple(
            (
                one_line(one.get("runs", "")),
                one_line(one.get("what") or ""),
                one_line(one.get("outcome") or "–"),
            )
            for one in list(found.get("tried") or ())[:_MOST_ROWS]
        ),
        cards=cards,
        proposals=tuple(map(_proposal, list(found.get("proposals") or ())[:_MOST_ROWS])),
        odds=_odds(found.get("odds") or {}),
        known=_lines(found.get("known")),
        ruled_out=_pairs(found.get("ruled_out")),
        not_varied=_pairs(found.get("not_varied")),
        limits=_lines(found.get("limits")),
        taps=tuple(map(_tap, taps[:_MOST_TAPS])),
        num_taps_cut=max(0, len(taps) - _MOST_TAPS),
        replay=_lines(found.get("replay")),
        made=tuple(_made(found)),
    )


def cause_facts(page: CausePage | None) -> Facts:
    """The same as labels and values, for formats without a page."""
    if page is None:
        return ()
    facts: list[tuple[str, str]] = [("answer", page.headline), *page.first]
    for card in page.cards:
        facts += [
            ("cause", f"{card.category} at {card.place}: {card.what}"),
            ("source", card.source),
            ("fix", card.fix),
            ("confidence", card.confidence),
        ]
    for one in page.proposals:
        what = f"not asked: {one.problem}" if one.problem else f"at {one.place}: {one.what}"
        facts.append((f"proposed by {one.by}", f"{one.category} {what}"))
        if not one.problem:
            facts += [(f"fix of {one.by}", one.fix), (f"confidence of {one.by}", one.standing)]
    facts += [("known", one) for one in page.known]
    facts += [("ruled out", f"{what}: {how}") for what, how in page.ruled_out]
    facts += [("not varied", f"{what}: {why}") for what, why in page.not_varied]
    facts += [("not recorded", limit) for limit in page.limits]
    facts += [
        (
            "suspect",
            f"{tap.category} at {tap.place}, {tap.count} times{', differs' if tap.differs else ''}",
        )
        for tap in page.taps
    ]
    facts += [("run again", one) for one in page.replay]
    return tuple((Visible(label), Visible(value)) for label, value in (*facts, *page.made) if value)


def _headline(found: Mapping[str, Any], cards: Sequence[CauseCard]) -> Visible:
    if found.get("problem"):
        return one_line(f"no cause was looked for: {found['problem']}")
    if found.get("verdict") != _DIFFERS:
        runs = f"{found['runs']} runs" if found.get("runs") else "the runs"
        return one_line(f"no difference occurred in {runs} of the diagnosis")
    if not cards:
        return Visible("cause unknown: no experiment shows one")
    first = cards[0]
    more = f" (and {len(cards) - 1} more)" if len(cards) > 1 else ""
    doubt = "" if first.confidence == "high" else "probably "
    return Visible(f"{doubt}{first.category} at {first.place}: {first.what}{more}")


def _card(cause: Mapping[str, Any]) -> CauseCard:
    texts = {name: one_line(cause.get(name) or "") for name in _CARD_TEXTS}
    return CauseCard(
        category=one_line(cause.get("category") or "unknown"),
        place=_place(cause),
        around=tuple(_around(cause)),
        **texts,
    )


def _proposal(told: Mapping[str, Any]) -> ProposalCard:
    names = {field.name for field in fields(ReportedProposal)}
    one = ReportedProposal(**{name: value for name, value in told.items() if name in names})
    return ProposalCard(
        by=one_line(one.label),
        category=one_line(one.category),
        place=_place(told),
        what=one_line(one.what),
        fix=one_line(one.fix),
        standing=one_line(one.standing),
        problem=one_line(one.problem),
    )


def _around(cause: Mapping[str, Any]) -> Iterator[tuple[Visible, Visible, bool]]:
    first = cause.get("around_from")
    lines = cause.get("around")
    if isinstance(first, int) and isinstance(lines, list | tuple):
        for number, text in enumerate(lines[:_MOST_ROWS], start=first):
            yield one_line(number), one_line(text), number == cause.get("line")


def _odds(odds: Mapping[str, Any]) -> Visible:
    pairs, repeated = odds.get("pairs"), odds.get("repeated")
    if not isinstance(pairs, int) or not pairs:
        return Visible("")
    told = f"{odds.get('differ')} of {counted(pairs, 'comparison')} of runs found a difference"
    if not isinstance(repeated, int) or not repeated:
        return one_line(told)
    luck = odds.get("luck")
    by_luck = f"; chance of that by luck: {100 * luck:.2g} %" if isinstance(luck, float) else ""
    runs = "1 run was equal to another" if repeated == 1 else f"{repeated} runs were equal to another one"
    return one_line(f"Without holding the cause, {told}. With it held, {runs}{by_luck}")


def _values(first: Mapping[str, Any]) -> tuple[Visible, Visible, Visible, Visible] | None:
    if not first.get("metric") or "expected" not in first or "actual" not in first:
        return None
    step = Visible("–") if first.get("step") is None else value_text(first["step"])
    return one_line(first["metric"]), step, value_text(first["expected"]), value_text(first["actual"])


def _tap(tap: Mapping[str, Any]) -> TapRow:
    return TapRow(
        category=one_line(tap.get("category") or ""),
        place=_place(tap),
        what=one_line(tap.get("what") or ""),
        count=one_line(tap.get("count", "")),
        differs=tap.get("differs") is True,
    )


def _place(where: Mapping[str, Any]) -> Visible:
    return one_line(f"{where['file']}:{where.get('line')}") if where.get("file") else Visible("no line")


def _first(found: Mapping[str, Any]) -> Facts:
    first = found.get("divergence") or {}
    facts = {
        "update": value_text(first["update"]) if first.get("update") is not None else "",
        "rank": value_text(first["rank"]) if first.get("rank") is not None else "",
        "event": one_line(first.get("event") or ""),
        "what differs first": one_line(first.get("stream") or ""),
        "all that differs there": one_line(", ".join(_several(first.get("streams")))),
        "still equal just before": one_line(first.get("equal_before") or ""),
        "first metric that differs": one_line(first.get("metric") or ""),
        "step": value_text(first["step"]) if first.get("step") is not None else "",
        "one run": value_text(first["expected"]) if "expected" in first else "",
        "the other": value_text(first["actual"]) if "actual" in first else "",
        "only with": one_line(f"another {found['variation'].replace('_', ' ')}")
        if isinstance(found.get("variation"), str)
        else "",
    }
    return tuple((Visible(label), Visible(text)) for label, text in facts.items() if text)


def _several(value: object) -> list[str]:
    """The texts of a list with more than one; of anything else, none."""
    texts = [str(one) for one in value] if isinstance(value, list | tuple) else []
    return texts if len(texts) > 1 else []


def _pairs(rows: Sequence[Mapping[str, Any]] | None) -> Facts:
    found = list(rows or ())
    pairs = [(one_line(row.get("what") or ""), one_line(row.get("how") or "")) for row in found[:_MOST_ROWS]]
    if len(found) > len(pairs):
        pairs.append((Visible("more"), one_line(f"{len(found) - len(pairs):,} in diagnosis.json")))
    return tuple(pairs)


def _lines(texts: Sequence[str] | None) -> tuple[Visible, ...]:
    return tuple(one_line(text) for text in list(texts or ())[:_MOST_ROWS])


def _made(found: Mapping[str, Any]) -> Iterator[tuple[Visible, Visible]]:
    if found.get("runs"):
        yield Visible("runs made"), one_line(found["runs"])
    if found.get("folder"):
        yield Visible("kept in"), one_line(found["folder"])
