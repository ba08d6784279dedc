"""What to do next, step by step: words to read, and commands that can be copied."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from reprokit.reports.escaping import Visible
from reprokit.reports.pages.cause import CauseCard

#: What stands between two steps.
_BETWEEN = re.compile(r", then: |, (?=else: )")
_COMMAND = re.compile(r"(?:reprokit|make|git)\s")
_ELSE, _OTHERWISE = "else:", "Otherwise:"


@dataclass(frozen=True, slots=True, kw_only=True)
class NextStep:
    """One step: words, a command, or words and then a command."""

    words: Visible
    command: Visible


def next_steps(text: Visible) -> tuple[NextStep, ...]:
    """The steps of a report's next command; a single one that is not known as words is a command.

    >>> [(one.words, one.command) for one in next_steps(Visible("if it is meant: commit, then: make test"))]
    [('If it is meant: commit', ''), ('', 'make test')]
    >>> [(one.words, one.command) for one in next_steps(Visible("commit, else: reprokit diff a b"))]
    [('Commit', ''), ('Otherwise:', 'reprokit diff a b')]
    """
    parts = [part.strip() for part in _BETWEEN.split(text) if part.strip()]
    return tuple(_step(part, is_only=len(parts) == 1) for part in parts)


def is_choice(steps: Sequence[NextStep]) -> bool:
    """Whether these are two ways, one of which is taken, and no first and second step."""
    return len(steps) == 2 and steps[1].words == _OTHERWISE


def after_cause(cards: Sequence[CauseCard], *, again: Visible) -> tuple[NextStep, ...]:
    """What to do where causes are known: mend each line, then run again; none where no fix is known.

    Args:
        cards: The causes.
        again: The command that runs it again, or "".
    """
    mend = [NextStep(words=_mend(card), command=Visible("")) for card in cards if card.fix]
    if not mend or not again:
        return tuple(mend)
    return (*mend, NextStep(words=Visible("Then run it again:"), command=again))


def _mend(card: CauseCard) -> Visible:
    probably = "" if card.confidence == "high" else "probable "
    return Visible(f"Mend the {probably}cause at {card.place}: {card.fix}")


def _step(text: str, *, is_only: bool) -> NextStep:
    words, colon, rest = text.partition(": ")
    if _COMMAND.match(text):
        words, command = "", text
    elif colon and _COMMAND.match(rest):
        words, command = f"{words}:", rest
    else:
        words, command = ("", text) if is_only else (text, "")
    words = _OTHERWISE if words == _ELSE else f"{words[:1].upper()}{words[1:]}"
    return NextStep(words=Visible(words), command=Visible(command))
