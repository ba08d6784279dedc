"""What a stream can show, and lines drawn in colour where it can.

A status is always a word; colour only repeats it.
"""

from __future__ import annotations

import io
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TextIO

from rich.console import Console
from rich.text import Text

from reprokit.core.checklist import Status
from reprokit.reports.terminal.terminal_lines import TerminalLine

_MIN_WIDTH, _MAX_WIDTH = 40, 200
STATUS_COLOURS = {
    Status.PASSED: "green",
    Status.FAILED: "bold red",
    Status.SKIPPED: "yellow",
    Status.ERROR: "bold magenta",
}
#: What a verdict means, in one word → its colour.
TONE_COLOURS = {"good": "bold green", "bad": "bold red", "unknown": "bold yellow", "plain": "bold"}
_LINE_STYLES = {"title": "bold", "dim": "dim", "command": "bold cyan", "hint": "cyan", "code": "bold"}
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
        color=is_terminal and not environ.get("NO_COLOR"),
        can_unicode=encoding.startswith("utf"),
    )


def draw_lines(lines: Sequence[TerminalLine], *, style: Style, tone: str) -> str:
    """The lines as text; the first word of those that begin with a verdict has the colour of ``tone``."""
    console = console_of(style)
    with console.capture() as captured:
        for line in lines:
            text = Text(line.text, style=_LINE_STYLES.get(line.tone, ""))
            if line.tone == "verdict":
                text.stylize(TONE_COLOURS[tone], 0, len(line.text.partition(" ")[0]))
            elif line.status is not None and line.text.startswith(line.status.value):
                text.stylize(STATUS_COLOURS[line.status], 0, len(line.status.value))
            console.print(text, soft_wrap=True)
    return captured.get()


def writable(text: str, *, style: Style) -> str:
    """The text as the stream can write it."""
    if style.can_unicode:
        return text
    replaced = "".join(_ASCII.get(character, character) for character in text)
    return replaced.encode("ascii", "backslashreplace").decode("ascii")


def console_of(style: Style) -> Console:
    """A console that draws in this style, into memory."""
    return Console(
        file=io.StringIO(),
        width=style.width,
        force_terminal=style.color,
        color_system="standard" if style.color else None,
        no_color=not style.color,
        legacy_windows=False,
        highlight=False,
        markup=False,
        emoji=False,
        _environ={},
    )
