"""``reprokit data export TABLE``: a table, or a text and its tokens, in another format."""

from __future__ import annotations

from pathlib import Path

import click

from reprokit.cli.extensions import Extension, Options
from reprokit.cli.options import project_of


def _exported(options: Options) -> int | None:
    from reprokit.cli.commands.data import print_files
    from reprokit.features.tables import data_tables

    output: Path = options["output"]
    if not data_tables.is_table(output):
        return None
    made = data_tables.converted(
        options["name"], output, vocabulary=options["vocabulary"], project=project_of({})
    )
    print_files({"files": made}, as_json=options["as_json"])
    return 0


EXPORT = Extension(
    options=(
        click.option(
            "--vocabulary",
            type=click.Path(exists=True, dir_okay=False, path_type=Path),
            help="A JSON list of characters: their places are the tokens.",
        ),
    ),
    answers=_exported,
)
