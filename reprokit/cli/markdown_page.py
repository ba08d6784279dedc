"""A page in Markdown on a terminal in colour: code is never cut, a table that is too wide becomes a list."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markdown import CodeBlock, Heading, Markdown, TableElement
from rich.padding import Padding
from rich.segment import Segment
from rich.text import Text
from rich.theme import Theme

from reprokit.reports.terminal.terminal_style import Style, writable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markdown_it.token import Token
    from rich.console import ConsoleOptions, RenderResult

_MOST_COLUMNS = 100
_THEME = Theme(
    {
        "markdown.h1": "bold underline",
        "markdown.h2": "bold",
        "markdown.h3": "bold",
        "markdown.code": "cyan",
        "markdown.item.bullet": "",
        "markdown.table.header": "bold",
        "markdown.table.border": "dim",
    }
)
_INDENT = "  "
#: Stands for a space at which no line may end; it is in no page.
_UNBROKEN = "\ue000"
_LONGEST_UNBROKEN = 50


class _LeftHeading(Heading):
    LEVEL_ALIGN = dict.fromkeys(Heading.LEVEL_ALIGN, "left")


class _PlainCode(CodeBlock):
    """Code as it can be copied: no line is cut or wrapped by us."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        lines = str(self.text).rstrip().splitlines()
        widest = max(map(len, lines), default=0)
        needs_all = options.max_width - len(_INDENT) < widest <= options.max_width
        for line in lines:
            indent = "" if needs_all or not line else _INDENT
            yield Segment(f"{indent}{line}", console.get_style("markdown.code"))
            yield Segment.line()


class _TableOrList(TableElement):
    """A table; where its cells would be narrow, a list of its rows."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        names = [cell.content for cell in self.header.row.cells] if self.header and self.header.row else []
        rows = [[cell.content for cell in row.cells] for row in self.body.rows] if self.body else []
        widths = [max((len(cell) for cell in column), default=0) for column in zip(*rows, strict=False)]
        if sum(widths) + 2 * len(widths) <= options.max_width or len(names) < 2:
            yield from super().__rich_console__(console, options)
            return
        for first, *others in rows:
            yield Text.assemble(first, style="bold")
            for name, cell in zip(names[1:], others, strict=False):
                if cell.plain:
                    label = Text.assemble((f"{name.plain}: ", "dim"), cell) if name.plain else cell
                    yield Padding(label, (0, 0, 0, 2))


class _Page(Markdown):
    elements = {  # noqa: RUF012 - as in the class above it
        **Markdown.elements,
        "heading_open": _LeftHeading,
        "fence": _PlainCode,
        "code_block": _PlainCode,
        "table_open": _TableOrList,
    }


def _keep_commands_whole(tokens: Sequence[Token]) -> None:
    """Let no line end within a short piece of code, so that a command can be read and copied."""
    for token in tokens:
        if token.type == "code_inline" and len(token.content) <= _LONGEST_UNBROKEN:
            token.content = token.content.replace(" ", _UNBROKEN)
        _keep_commands_whole(token.children or ())


def drawn(text: str, *, style: Style) -> str:
    """The page as it is written to a terminal."""
    console = _console_of(style)
    console.push_theme(_THEME)
    without_comments = re.sub(r"<!--.*?-->\n?", "", text, flags=re.DOTALL)
    page = _Page(without_comments, hyperlinks=False)
    _keep_commands_whole(page.parsed)
    with console.capture() as captured:
        console.print(page, width=min(style.width, _MOST_COLUMNS), crop=False)
    lines = captured.get().replace(_UNBROKEN, " ").splitlines()
    return writable("\n".join(line.rstrip() for line in lines) + "\n", style=style)


def _console_of(style: Style) -> Console:
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
