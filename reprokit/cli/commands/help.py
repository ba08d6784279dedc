"""``reprokit help``: the documentation's pages, which the installed package brings, and the verbs' own."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from reprokit.cli.help_pages import Command, write_sections
from reprokit.cli.options import examples, json_option
from reprokit.cli.output import print_json

if TYPE_CHECKING:
    from reprokit.packaged import Topic


@click.command(
    "help",
    cls=Command,
    short_help="Show a page of the documentation, or list them.",
    epilog=examples("reprokit help", "reprokit help read-a-verdict", "reprokit help golden promote"),
)
@click.argument("topic", nargs=-1)
@json_option()
@click.pass_context
def command(context: click.Context, topic: tuple[str, ...], as_json: bool) -> int:
    """Show a page of the documentation, or the options of a verb; without TOPIC, list the pages.

    On a terminal in colour a page is laid out for it, elsewhere it is plain Markdown.

    Exit codes: 0; 2 there is no such topic.
    """
    from reprokit import cli, packaged

    pages, name = packaged.topics(), " ".join(topic)
    if not topic:
        data = {page: {"kind": one.kind, "title": one.title} for page, one in pages.items()}
        print_json(data) if as_json else click.echo(_list_of(pages, context))
        return 0
    verbs = cli.verbs()
    if name in pages or (len(topic) == 1 and name not in verbs):
        text = packaged.topic(name, others=cli.root.list_commands(context)).text()
        also = f"\nThe options of the verb: `reprokit {name} --help`\n" if name in verbs else ""
        shown = _laid_out(text + also)
    else:
        text = shown = _help_of(topic, context) + "\n"
    if as_json:
        print_json({"topic": name, "text": text})
    else:
        click.echo(shown, nl=False)
    return 0


def _list_of(pages: dict[str, Topic], context: click.Context) -> str:
    from reprokit import packaged

    formatter = context.make_formatter()
    write_sections(
        formatter,
        {
            kind.capitalize(): [(name, page.title) for name, page in pages.items() if page.kind == kind]
            for kind in packaged.KINDS
        },
    )
    return formatter.getvalue().strip("\n")


def _laid_out(text: str) -> str:
    """A page as the terminal shows it best; elsewhere Markdown as it is."""
    if not sys.stdout.isatty():
        return text
    from reprokit import extras
    from reprokit.reports.terminal.terminal_style import style_of

    style = style_of(sys.stdout, environ=os.environ)
    if not style.color or not extras.is_installed("rich"):
        return text
    from reprokit.cli.markdown_page import drawn

    return drawn(text, style=style)


def _help_of(words: Sequence[str], context: click.Context) -> str:
    """The help page of a verb; a usage error that names the nearest where there is none."""
    inner = context.find_root()
    for at, word in enumerate(words):
        if not isinstance(inner.command, click.Group):
            raise click.UsageError(f"{' '.join(words[:at])} has no verb {word!r}", context)
        _, found, _ = inner.command.resolve_command(inner, [word])
        assert found is not None  # noqa: S101 - or it would have been a usage error
        inner = click.Context(found, info_name=word, parent=inner)
    return inner.command.get_help(inner)
