"""What to do next, step by step: words to read, and commands that can be copied."""

from __future__ import annotations

import re
from dataclasses import dataclass

from reprokit.reports.escaping import Visible

#: What stands between two steps.
_BETWEEN = re.compile(r", then: |, (?=else: )")
_COMMAND = re.compile(r"(?:reprokit|make|git)\s")


@dataclass(frozen=True, slots=True, kw_only=True)
class NextStep:
    """One step: words, a command, or words and then a command."""

    words: Visible
    command: Visible


def next_steps(text: Visible) -> tuple[NextStep, ...]:
    """The steps of a report's next command; a single one that is not known as words is a command.

    >>> [(one.words, one.command) for one in next_steps(Visible("if it is meant: commit, then: make test"))]
    [('if it is meant: commit', ''), ('', 'make test')]
    >>> [(one.words, one.command) for one in next_steps(Visible("commit, else: reprokit diff a b"))]
    [('commit', ''), ('else:', 'reprokit diff a b')]
    """
    parts = [part.strip() for part in _BETWEEN.split(text) if part.strip()]
    return tuple(_step(part, is_only=len(parts) == 1) for part in parts)


def _step(text: str, *, is_only: bool) -> NextStep:
    words, colon, rest = text.partition(": ")
    if _COMMAND.match(text):
        words, command = "", text
    elif colon and _COMMAND.match(rest):
        words, command = f"{words}:", rest
    else:
        words, command = ("", text) if is_only else (text, "")
    return NextStep(words=Visible(words), command=Visible(command))
