"""Lines of one screen: text wrapped between words, labels with values, each with the tone it is drawn in."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from reprokit.core.checklist import Status
from reprokit.reports.escaping import Visible, pieces
from reprokit.reports.terminal.terminal_text import columns_of, cut, wrapped_lines

__all__ = ["MOST_LINES", "TerminalLine", "cut", "fact_lines", "with_commands", "wrapped"]

#: Of one screen.
MOST_LINES = 30
_MOST_OF_FACTS = 6
_ON = " \\"
_LEAST_INDENT = 2
_COMMENT = "  # "
_STEP = re.compile(", (then|else): ")
#: A step that is no command.
_WORDS = re.compile(r"(?:add|ask|commit|have|if the|send) ")
#: A word of a command line; what is between quotes belongs to it.
_WORD = re.compile(r"""(?:[^\s'"]|'[^']*'|"[^"]*")+""")


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
        most_of_value: Lines of a value that is data; None for sentences, which are never cut.
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
    """As ``wrapped``, but every command between back quotes can be copied.

    One that has no room on a line with the words around it stands on lines of its own.
    """
    found = pieces(text)
    lines = wrapped(text, width=width, lead=lead)
    commands = [piece for piece, is_command in found if is_command]
    if all(any(f"`{command}`" in line for line in lines) for command in commands):
        return lines
    lines, indent = [], columns_of(lead)
    for piece, is_command in found:
        words = piece if is_command else piece.strip(" ,;")
        start = " " * indent if lines else lead
        if is_command:
            lines += command_lines(words, width=width, lead=start)
        elif words:
            lines += wrapped(words, width=width, lead=start)
    return lines


def broken(line: str, *, width: int) -> list[str]:
    """A line that has no room, on as many as it takes; what begins with `reprokit` is a command."""
    text = line.lstrip(" ")
    lead = line[: len(line) - len(text)]
    if columns_of(line) <= width:
        return [line]
    if text.startswith("reprokit "):
        return command_lines(text, width=width, lead=lead)
    return wrapped(text, width=width, lead=lead)


def steps(title: str, steps_to_type: str, *, width: int) -> Iterator[TerminalLine]:
    """A command as it can be typed, or several steps, each on a line of its own."""
    first, *further = _STEP.split(steps_to_type)
    for lead, step in ((title, first), *zip(further[::2], further[1::2], strict=True)):
        draw = wrapped if _WORDS.match(step) else command_lines
        for text in draw(step.strip(), width=width, lead=f"{f'{lead}:':<11}"):
            yield TerminalLine(text=text, tone="command")


def command_lines(command: str, *, width: int, lead: str = "") -> list[str]:
    """A command on as many lines as it takes: a shell reads them as one, by the backslash at their ends.

    It is broken between words only, and never within quotes. A comment at its end comes last.
    """
    typed, blank, comment = command.partition(_COMMENT)
    words = _WORD.findall(typed)
    if columns_of(lead + command) <= width or " ".join(words) != typed:
        return [f"{lead}{command}"]
    indent = columns_of(lead)
    if indent + max(map(columns_of, words)) + len(_ON) > width:
        indent = _LEAST_INDENT  # a long path has more room there
    lines = [f"{lead}{words[0]}"]
    for number, word in enumerate(words[1:], start=2):
        end = "" if number == len(words) else _ON
        if columns_of(f"{lines[-1]} {word}{end}") <= width:
            lines[-1] += f" {word}"
        else:
            lines[-1] += _ON
            lines.append(f"{' ' * indent}{word}")
    if columns_of(lines[-1] + blank + comment) <= width:
        return [*lines[:-1], f"{lines[-1]}{blank}{comment}"]
    return [*lines, f"{' ' * _LEAST_INDENT}{blank.lstrip()}{comment}"]


def place_lines(title: str, path: str, *, width: int) -> list[str]:
    """Where a file is: on one line, or its name and then its folder."""
    if columns_of(f"{title:<11}{path}") <= width or "/" not in path:
        return [f"{title:<11}{path}"]
    folder, _, name = path.rpartition("/")
    return [*wrapped(f"{name} in", width=width, lead=f"{title:<11}"), folder]
