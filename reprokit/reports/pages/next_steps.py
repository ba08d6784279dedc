"""What to do next, step by step: words to read, and commands that can be copied."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from reprokit.reports.escaping import Visible
from reprokit.reports.pages.cause import CauseCard

#: What stands between two steps.
_BETWEEN = re.compile(r", then: |, (?=else: )")
_COMMAND = re.compile(r"(?:reprokit|make|git)\s")
_ELSE, _OTHERWISE = "else:", "Otherwise:"
_STILL_DIFFERS = "If it then still differs from the golden: undo the change or, if it is meant, promote it:"


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


def after_cause(
    cards: Sequence[CauseCard],
    *,
    again: Visible,
    new_lines: Collection[str] = (),
    promote: Visible | None = None,
) -> tuple[NextStep, ...]:
    """What to do where causes are known: fix each line, then run again; none where no fix is known.

    Args:
        cards: The causes.
        again: The command that runs it again, or "".
        new_lines: ``file:line`` of the lines that are new since the golden.
        promote: The command that promotes the new runs, where the golden differs too.
    """
    fix = [NextStep(words=_fix(card, new_lines), command=Visible("")) for card in cards if card.fix]
    if not fix or not again:
        return tuple(fix)
    steps = (*fix, NextStep(words=Visible("Then run it again:"), command=again))
    return (*steps, NextStep(words=Visible(_STILL_DIFFERS), command=promote)) if promote else steps


def _fix(card: CauseCard, new_lines: Collection[str]) -> Visible:
    probably = "" if card.confidence == "high" else "probable "
    told: list[str] = [card.what] if card.what else []
    told += ["the line is new since the golden"] if card.place in new_lines else []
    why = f" ({'; '.join(told)})" if told else ""
    return Visible(f"Fix the {probably}cause at {card.place}{why}: {card.fix}")


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
