"""What a stream can show, and lines drawn in colour where it can.

A status is always a word; colour only repeats it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TextIO

from reprokit.core.checklist import Status
from reprokit.reports.terminal.terminal_lines import TerminalLine

_MIN_WIDTH, _MAX_WIDTH = 40, 200
# Parameters of the terminal's sequence for colours (ECMA-48, SGR): 1 bold, 2 dim, 31 red, 36 cyan.
_STATUS_COLOURS = {Status.PASSED: "32", Status.FAILED: "1;31", Status.SKIPPED: "33", Status.ERROR: "1;35"}
#: What a verdict means, in one word → its colour.
_TONE_COLOURS = {"good": "1;32", "bad": "1;31", "unknown": "1;33", "plain": "1"}
_LINE_COLOURS = {"title": "1", "dim": "2", "command": "1;36", "hint": "36", "code": "1"}
_ASCII = {"─": "-", "│": "|", "·": "-", "→": "->", "…": "...", "–": "-"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """What an output stream can show."""

    width: int = 80  # columns
    is_terminal: bool = True  # false for plain lines: a file, a pipe, a CI log, a dumb terminal
    color: bool = False  # whether to use colour; only on a terminal
    can_unicode: bool = True  # whether everything beyond ASCII can be written


def style_of(stream: TextIO, *, environ: Mapping[str, str]) -> Style:
    """The style for a stream, from the stream itself and the environment variables.

    ``NO_COLOR`` (not empty, https://no-color.org) turns colour off; ``TERM=dumb`` and GitHub's runner get
    plain lines.
    """
    encoding = (getattr(stream, "encoding", None) or "ascii").lower().replace("-", "")
    is_terminal = stream.isatty() and environ.get("TERM") != "dumb" and not environ.get("GITHUB_ACTIONS")
    columns = environ.get("COLUMNS", "")
    width = int(columns) if columns.isdecimal() and int(columns) else shutil.get_terminal_size().columns
    return Style(
        width=min(max(width, _MIN_WIDTH), _MAX_WIDTH),
        is_terminal=is_terminal,
        color=is_terminal and not environ.get("NO_COLOR") and (os.name != "nt" or "WT_SESSION" in environ),
        can_unicode=encoding.startswith("utf"),
    )


def draw_lines(lines: Sequence[TerminalLine], *, style: Style, tone: str) -> str:
    """The lines as text; the first word of those that begin with a verdict has the colour of ``tone``."""
    return "".join(f"{_colored(line, tone) if style.color else line.text}\n" for line in lines)


def _colored(line: TerminalLine, tone: str) -> str:
    if line.tone == "verdict":
        word = line.text.partition(" ")[0]
        return _in_color(word, _TONE_COLOURS[tone]) + line.text.removeprefix(word)
    rest, color = line.text, _LINE_COLOURS.get(line.tone, "")
    if line.status is None or not rest.startswith(line.status.value):
        return _in_color(rest, color)
    rest = rest.removeprefix(line.status.value)
    return _in_color(line.status.value, _STATUS_COLOURS[line.status]) + _in_color(rest, color)


def _in_color(text: str, color: str) -> str:
    return f"\x1b[{color}m{text}\x1b[0m" if text and color else text


def writable(text: str, *, style: Style) -> str:
    """The text as the stream can write it."""
    if style.can_unicode:
        return text
    replaced = "".join(_ASCII.get(character, character) for character in text)
    return replaced.encode("ascii", "backslashreplace").decode("ascii")
