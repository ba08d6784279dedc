"""Verbs of ``reprokit data``: show, compare and split tables."""

from __future__ import annotations

import re
from pathlib import Path

import click

from reprokit.cli.help_pages import Command
from reprokit.cli.options import examples, json_option, project_of
from reprokit.cli.output import print_answer


@click.command(
    "show", cls=Command, epilog=examples("reprokit data show my_recipe", "reprokit data show train.csv")
)
@click.argument("name", metavar="RECIPE|TABLE")
@json_option()
def show(name: str, as_json: bool) -> int:
    """Show the manifest of each table: rows, columns, duplicates, and what texts and tokens hold.

    TABLE is a file or a folder, with its form behind it where the name does not say it:
    train.csv, all.h5::h5/train, photos::images, corpus.txt::documents, train.bin::tokens/uint16/64.

    Exit codes: 0; 2 no such table; 3 the data is not in the cache as declared.
    """
    from reprokit.features.tables import data_tables, page

    found = data_tables.shown(name, project=project_of({}))
    print_answer(
        page.manifest_lines(found),
        data=lambda: {called: one.as_data() for called, one in found.items()},
        as_json=as_json,
    )
    return 0


@click.command("diff", cls=Command, epilog=examples("reprokit data diff old.csv new.csv --key id"))
@click.argument("before", metavar="A")
@click.argument("after", metavar="B")
@click.option(
    "--key", multiple=True, metavar="COLUMN", help="A column that identifies a row; repeat for several."
)
@json_option()
def diff(before: str, after: str, key: tuple[str, ...], as_json: bool) -> int:
    """Say which rows were added, removed or changed from table A to table B.

    A and B are files or folders (see show), RECIPE:NAME, or sha256:DIGEST:csv of the cache.
    Exit codes: 0 the same rows in the same order; 1 they differ; 2 one is no table.
    """
    from reprokit.features.tables import data_tables, page

    found = data_tables.compared(before, after, key=key, project=project_of({}))
    print_answer(page.diff_lines(found), data=lambda: page.diff_data(found), as_json=as_json)
    return 0 if found.same_rows and not found.is_reordered else 1


@click.command(
    "split",
    cls=Command,
    epilog=examples("reprokit data split all.csv --part train=0.8 --part test=0.2 --output DIR"),
)
@click.argument("table", metavar="TABLE")
@click.option(
    "--part",
    "parts",
    multiple=True,
    required=True,
    metavar="NAME=SHARE",
    help="A part; the shares add up to 1.",
)
@click.option(
    "--output", required=True, type=click.Path(file_okay=False, path_type=Path), help="A new folder."
)
@click.option(
    "--key", multiple=True, metavar="COLUMN", help="A column that identifies a row  [default: all]."
)
@click.option("--stratify", default="", metavar="COLUMN", help="Keep the balance of this column's values.")
@click.option("--salt", default="", metavar="TEXT", help="A different text gives a different split.")
@json_option("Print split.json.")
def split(
    table: str,
    parts: tuple[str, ...],
    output: Path,
    key: tuple[str, ...],
    stratify: str,
    salt: str,
    as_json: bool,
) -> int:
    """Split a table by the hash of each row's identity: rows keep their part when others come, go or move.

    Rows of one identity are in one part. With --stratify, a row near a border can move when rows are added.
    """
    from reprokit.features.tables import data_tables
    from reprokit.reports import one_line

    made = data_tables.split_into(
        table,
        output,
        _shares(parts),
        key=key,
        stratify=stratify,
        salt=salt,
        project=project_of({}),
    )
    lines = (
        one_line(f"{name}  {one['rows']:,} rows  {one['sha256']}") for name, one in made["parts"].items()
    )
    print_answer(lines, data=lambda: made, as_json=as_json)
    return 0


@click.command(
    "check-splits", cls=Command, epilog=examples("reprokit data check-splits train.csv test.csv --key id")
)
@click.argument("tables", nargs=-1, required=True, metavar="TABLE TABLE…")
@click.option(
    "--key", multiple=True, metavar="COLUMN", help="A column that identifies a row  [default: all]."
)
@json_option()
def check_splits(tables: tuple[str, ...], key: tuple[str, ...], as_json: bool) -> int:
    """Say which rows are in more than one table.

    A table is a file or folder (see show), RECIPE:NAME, or sha256:DIGEST:csv of the cache.
    Exit codes: 0 none does; 1 some do, with their lines; 2 one is no table.
    """
    from reprokit.features.tables import data_tables, page

    found = data_tables.shared_rows(tables, key=key, project=project_of({}))
    print_answer(page.overlap_lines(found), data=lambda: page.overlap_data(found), as_json=as_json)
    return 1 if found.num_duplicates else 0


def _shares(parts: tuple[str, ...]) -> dict[str, float]:
    """Name → share, as they were typed."""
    shares: dict[str, float] = {}
    for part in parts:
        found = re.fullmatch(r"([A-Za-z0-9][A-Za-z0-9_-]{0,63})=(0?\.[0-9]+|1(?:\.0*)?)", part)
        if found is None or found[1] in shares:
            raise click.BadParameter(f"{part!r} is not NAME=SHARE, such as train=0.8, or is there twice")
        shares[found[1]] = float(found[2])
    return shares
