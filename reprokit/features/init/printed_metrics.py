r"""Patterns that find metrics in what a program prints: ``loss=0.5``, ``Epoch 3: accuracy 0.97``, bars.

>>> propose_patterns("epoch 1 loss: 0.5\nepoch 2 loss: 0.25\n")
('epoch[\\s:=]+(?P<step>[-+\\w.]+).*?loss[\\s:=]+(?P<loss>[-+\\w.]+)',)
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from reprokit.features.init import printed_tables
from reprokit.features.init.pattern_groups import VALUE, group_names

_NAMED_NUMBER = re.compile(
    r"(?<![\w.])(?P<name>[A-Za-z][\w./-]*)(?P<quotes>['\"]?)\s*[:=\s]\s*['\"]?"
    r"(?P<number>[-+]?(?:\d[\d_,]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|nan|inf)(?![\w.])",
)
#: What stands before a number in a sentence, and names none.
_WORDS = frozenset(
    [
        *(
            "a",
            "after",
            "and",
            "at",
            "by",
            "for",
            "from",
            "in",
            "is",
            "it",
            "line",
            "now",
            "of",
            "on",
            "over",
            "port",
        ),
        *("python", "than", "the", "then", "to", "took", "until", "up", "using", "version", "was", "with"),
    ]
)
_LINE_ENDS = re.compile(r"[\r\n]+")
#: The part of a bar's line that is drawn by the clock: tqdm's, from the percentage to the speed, and Keras's.
_TQDM = re.compile(r"\d+%\|[^|\r\n]{0,400}\|[^\[\r\n]{0,80}\[[^,\]\r\n]{0,40}(?:, *[\d.?]+ *\w+/\w+)?")
_KERAS = re.compile(r"^\s*\d+/\d+ [\[━=>.\]]+.{0,40}?(?:step|epoch)\b")
_RANK = re.compile(
    r"^\[(?:default|local_rank|rank) ?=?(\d+)\]|^\[\d+,(\d+)\]<|\b(?:rank|Rank|RANK)[ =:]+(\d+)\b"
)
_MOST_LINES, _LONGEST_LINE, _MOST_PATTERNS = 100_000, 2_000, 8
#: As `adapters.printed.printed_search` spells it: lines that are drawn over do not count.
_FINAL = "(?#final)"


@dataclass(frozen=True, slots=True)
class _Kind:
    """Lines that name the same numbers."""

    names: tuple[str, ...]
    is_quoted: bool = False
    is_bar: bool = False


def propose_patterns(text: str) -> tuple[str, ...]:
    """Regular expressions whose named groups are metrics, one for each kind of line or table.

    Lines count that name the same numbers at least twice, with a fraction among them; where there is none,
    any line that names a number does. Of bars, the last state counts. Where the lines of several ranks are
    mixed, their order is chance, and nothing is proposed.
    """
    lines = [line[:_LONGEST_LINE] for line in _LINE_ENDS.split(text)[:_MOST_LINES]]
    if len({next(filter(None, match.groups())) for line in lines for match in _RANK.finditer(line)}) > 1:
        return ()
    tables = printed_tables.propose_patterns(lines)
    kinds: Counter[_Kind] = Counter()
    fractions: set[_Kind] = set()
    for line in lines:
        kind, has_fraction = _kind_of(line)
        if kind.names and len(set(kind.names)) == len(kind.names):
            kinds[kind] += 1
            if has_fraction:
                fractions.add(kind)
    regular = [kind for kind, count in kinds.items() if count > 1 and kind in fractions]
    chosen = regular or ([] if tables else [kind for kind in kinds if kind in fractions] or list(kinds))
    # The first pattern that fits a line is used: one that names more must not come after one that names less.
    chosen.sort(key=lambda kind: -len(kind.names))
    return (*tables, *map(_pattern, chosen))[:_MOST_PATTERNS]


def _kind_of(line: str) -> tuple[_Kind, bool]:
    """What numbers a line names, and whether one of them is a fraction."""
    is_bar = False
    for bar in (_TQDM, _KERAS):
        line, count = bar.subn(" | ", line)
        is_bar = is_bar or count > 0
    found = [match for match in _NAMED_NUMBER.finditer(line) if not _is_of_a_sentence(match)]
    names = tuple(match["name"] for match in found)
    has_fraction = any(re.search(r"[.eE]|nan|inf", match["number"]) for match in found)
    if is_bar and not any(match.start() > line.find("|") for match in found):
        names = ()  # a bar that says nothing but how far it is
    return _Kind(names, any(match["quotes"] for match in found), is_bar), has_fraction


def _is_of_a_sentence(match: re.Match[str]) -> bool:
    """``it is now 1789.5``: a word before a number, with nothing but a space between them."""
    between = match.group()[len(match["name"]) : -len(match["number"])]
    return not between.strip() and match["name"].lower() in _WORDS


def _pattern(kind: _Kind) -> str:
    between = r"['\"\s:=]+" if kind.is_quoted else r"[\s:=]+"
    parts = [
        rf"{re.escape(name)}{between}(?P<{group}>{VALUE})"
        for name, group in zip(kind.names, group_names(kind.names), strict=True)
    ]
    return (_FINAL if kind.is_bar else "") + ".*?".join(parts)
