"""Lines of one screen: text wrapped between words, labels with values, each with the tone it is drawn in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from reprokit.core.checklist import Status
from reprokit.reports.escaping import Visible, pieces
from reprokit.reports.terminal.terminal_text import columns_of, cut, wrapped_lines

__all__ = ["MOST_LINES", "TerminalLine", "cut", "fact_lines", "with_commands", "wrapped"]

#: Of one screen.
MOST_LINES = 30
_MOST_OF_FACTS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class TerminalLine:
    """One line; ``tone`` is ``verdict``, ``title``, ``row``, ``dim``, ``command`` or empty."""

    text: str
    tone: str = ""
    status: Status | None = None


def fact_lines(
    title: str,
    facts: Sequence[tuple[Visible, Visible]],
    *,
    width: int,
    most: int = _MOST_OF_FACTS,
    most_of_value: int | None = None,
) -> Iterator[TerminalLine]:
    """Labels and values, and how many there were beyond the first ones.

    Args:
        title: What stands above them.
        facts: All of them.
        width: Columns of the terminal.
        most: How many are shown.
        most_of_value: Lines of a value that is data; None for sentences, of which nothing is left out.
    """
    if not facts:
        return
    yield TerminalLine(text="")
    yield TerminalLine(text=title, tone="title")
    shown = facts if len(facts) <= most else facts[: most - 1]
    margin = min(max(columns_of(label) for label, _ in shown) + 4, width * 3 // 5)
    for label, value in shown:
        lead = f"  {label}"
        if columns_of(lead) > margin - 2:  # a name of its own length stands above its value
            yield from (TerminalLine(text=text) for text in wrapped(label, width=width, lead="  "))
            lead = ""
        lead += " " * (margin - columns_of(lead))
        yield from (
            TerminalLine(text=text) for text in wrapped(value, width=width, most=most_of_value, lead=lead)
        )
    if len(facts) > len(shown):
        yield TerminalLine(text=f"  and {len(facts) - len(shown):,} more", tone="dim")


def wrapped(text: str, *, width: int, most: int | None = None, lead: str = "") -> list[str]:
    """The text on as many lines as it takes, ``lead`` before the first.

    Of data that no one reads to its end at most ``most`` lines: what has no room ends in an ellipsis. Widths
    are those of a terminal, where a character may take two columns.
    """
    indent = columns_of(lead)
    lines = wrapped_lines(text, width=width - indent)
    if most is not None and len(lines) > max(most, 1):
        lines = lines[: max(most, 1)]
        lines[-1] = cut(f"{lines[-1]} …", width=width - indent)
    return [f"{lead if number == 0 else ' ' * indent}{line}" for number, line in enumerate(lines)]


def with_commands(text: Visible, *, width: int, lead: str = "") -> list[str]:
    """As ``wrapped``, but every command between back quotes stays whole: it is there to be copied.

    One that has no room on a line with the words around it stands on a line of its own, however long.
    """
    found = pieces(text)
    lines = wrapped(text, width=width, lead=lead)
    commands = [piece for piece, is_command in found if is_command]
    if all(any(f"`{command}`" in line for line in lines) for command in commands):
        return lines
    lines, indent = [], columns_of(lead)
    for piece, is_command in found:
        told = piece if is_command else piece.strip(" ,;")
        start = " " * indent if lines else lead
        if is_command:
            lines.append(f"{start}{told}")
        elif told:
            lines += wrapped(told, width=width, lead=start)
    return lines
