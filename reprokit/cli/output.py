"""How verbs print an answer: JSON for machines, or lines for people."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import click


def print_json(value: Any, *, default: Callable[[Any], Any] | None = None) -> None:
    """One JSON value, indented, in ASCII: no terminal acts on anything in it."""
    import json

    click.echo(json.dumps(value, indent=2, default=default))


def fitted_lines(lines: Iterable[str]) -> Iterator[str]:
    """Lines for people: for a terminal broken between words, a command after a backslash."""
    from reprokit.reports.terminal.terminal_lines import broken
    from reprokit.reports.terminal.terminal_style import style_of

    style = style_of(sys.stdout, environ=os.environ)
    for line in lines:
        yield from broken(line, width=style.width) if style.is_terminal else (line,)


def print_answer(lines: Iterable[str], *, data: Callable[[], Any], as_json: bool) -> None:
    """What ``data`` returns, as JSON with paths as text; or the lines. The other one is not computed."""
    if as_json:
        print_json(data(), default=str)
    else:
        click.echo("\n".join(lines))
