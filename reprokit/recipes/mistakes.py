"""How several mistakes in a recipe become one error, each with its line and the near miss."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

from reprokit.errors import RecipeError

_MOST_SHOWN = 20


def combined(mistakes: Sequence[RecipeError], *, where: str) -> RecipeError:
    """One error that tells at least one mistake, in the order given."""
    if len(mistakes) == 1:
        return mistakes[0]
    lines = [f"  {mistake}" for mistake in mistakes[:_MOST_SHOWN]]
    if len(mistakes) > _MOST_SHOWN:
        lines.append(f"  and {len(mistakes) - _MOST_SHOWN} more")
    error = RecipeError("\n".join([f"{len(mistakes)} mistakes", *lines]), where=where)
    error.mistakes = tuple(lines)
    return error


def near_miss(word: str, known: Iterable[str]) -> str | None:
    """The known word that was probably meant, or None."""
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return close[0] if close else None


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """What to do about a word that does not exist: the near miss, or all that there is."""
    names = sorted(known)
    close = near_miss(word, names)
    if close is not None:
        return f"did you mean {close!r}?"
    return f"choose one of {', '.join(names)}" if names else "remove it"


def quoted(value: object) -> str:
    """A value from a recipe as a person would say it, cut to a readable length."""
    if value is None:
        return "nothing (null)"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "a section"
    if isinstance(value, list | tuple):
        return f"a list of {len(value)}"
    kind = "the text " if isinstance(value, str) else ""
    text = repr(value)
    return kind + (text if len(text) <= 60 else text[:57] + "...")
