"""``reprokit help``: the documentation's pages, which the installed package brings."""

from __future__ import annotations

import click

from reprokit.cli.help_pages import Command
from reprokit.cli.options import examples, json_option
from reprokit.cli.output import print_answer


@click.command(
    "help",
    cls=Command,
    short_help="Show a page of the documentation, or list them.",
    epilog=examples("reprokit help", "reprokit help read-a-verdict", "reprokit help recipe"),
)
@click.argument("topic", required=False)
@json_option()
@click.pass_context
def command(context: click.Context, topic: str | None, as_json: bool) -> int:
    """Show a page of the documentation; without TOPIC, list all. A verb's name shows its options.

    Exit codes: 0; 2 there is no such topic.
    """
    from reprokit import packaged

    if topic is None:
        pages = packaged.topics()
        width = max(map(len, pages))
        lines = [
            line
            for kind in packaged.KINDS
            for line in (
                f"{kind}:",
                *(f"  {name:{width}}  {page.title}" for name, page in pages.items() if page.kind == kind),
            )
        ]
        data = {name: {"kind": page.kind, "title": page.title} for name, page in pages.items()}
        print_answer(lines, data=lambda: data, as_json=as_json)
        return 0
    verb = _verb(context, topic)
    text = packaged.topic(topic).text() if verb is None else verb
    print_answer(text.splitlines(), data=lambda: {"topic": topic, "text": text}, as_json=as_json)
    return 0


def _verb(context: click.Context, name: str) -> str | None:
    """A verb's own help, unless a page has its name."""
    from reprokit import packaged
    from reprokit.cli import root

    found = None if name in packaged.topics() else root.get_command(context, name)
    if found is None:
        return None
    with click.Context(found, info_name=name, parent=context.parent) as inner:
        return found.get_help(inner)
