"""The option ``--html FILE``: the answer of a verb as a page too."""

from __future__ import annotations

from pathlib import Path

import click

from reprokit.cli.help_pages import Title, titled

html_option = titled(
    Title.WRITTEN,
    click.option(
        "--html",
        "html",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="Also write a page with learning curves, the results of every seed, and the tables.",
    ),
)


def write_page(text: str, *, path: Path) -> None:
    """Write a page, and say where it is.

    Raises:
        WorkspaceError: It cannot be written.
    """
    from reprokit import workspace
    from reprokit.reports import one_line

    workspace.write_named(path, text.encode("utf-8"))
    click.echo(f"Page: {one_line(path)}", err=True)
