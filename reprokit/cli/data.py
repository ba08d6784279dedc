"""``reprokit data``: fetch, list and verify what recipes read; show, compare, split and export tables."""

from __future__ import annotations

import re
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reprokit.cli.options import examples, json_option, project_of
from reprokit.cli.output import print_answer
from reprokit.request import BACKENDS

if TYPE_CHECKING:
    from reprokit.data import DataSource, OnProgress, SourceState

_TOLD_EVERY_S = 5.0


@click.group(
    "data",
    short_help="Fetch, list and verify the data that recipes declare.",
    epilog=examples("reprokit data fetch my_recipe"),
)
def command() -> None:
    """Data that recipes declare by name: fetched once, checked against its digest, shared by all recipes.

    It lies in the cache: $REPROKIT_CACHE, else $XDG_CACHE_HOME/reprokit, else ~/.cache/reprokit.
    """


@command.command("list", epilog=examples("reprokit data list", "reprokit data list my_recipe --json"))
@click.argument("names", nargs=-1, metavar="[RECIPE…]")
@json_option("Print a JSON list.")
def list_(names: tuple[str, ...], as_json: bool) -> int:
    """List the data of all recipes, and whether it is on this machine. Nothing is read or fetched."""
    from reprokit.harness import datasets

    _print(datasets.listed(names, project=project_of({})), as_json=as_json)
    return 0


@command.command("fetch", epilog=examples("reprokit data fetch my_recipe", "reprokit data fetch --if-any"))
@click.argument("names", nargs=-1, metavar="[RECIPE…]")
@click.option("--offline", is_flag=True, help="Use no network; so does REPROKIT_OFFLINE=1.")
@click.option("--if-any", is_flag=True, help="Recipes that declare nothing to fetch are no mistake.")
@json_option("Print a JSON list.")
def fetch(names: tuple[str, ...], offline: bool, if_any: bool, as_json: bool) -> int:
    """Fetch the data of recipes (of all, where none is named) into the cache. A cut download is resumed.

    Exit codes: 0 all of it is there as declared; 2 a mistake in the recipe; 3 it could not be fetched.
    """
    from reprokit.harness import datasets

    found = datasets.fetched(
        names, project=project_of({}), offline=offline, if_any=if_any, on_progress=_told()
    )
    if found or not if_any or as_json:
        _print(found, as_json=as_json)
    return 0


@command.command("prepare", epilog=examples("reprokit data prepare my_recipe"))
@click.argument("name", metavar="RECIPE")
@click.option("--once", is_flag=True, help="Run each step once: then nothing shows that it repeats.")
@click.option("--again", is_flag=True, help="Run also the steps that ran on exactly this before.")
@click.option("--backend", type=click.Choice(BACKENDS), default="auto", show_default=True, help="How to run.")
@json_option("Print a JSON list of the records.")
def prepare(name: str, once: bool, again: bool, backend: str, as_json: bool) -> int:
    """Run the steps under `prepare` of a recipe twice, in its pinned environment: both leave equal bytes.

    Exit codes: 0 as declared; 1 two preparations differ, or a file is another one than declared; 2 a mistake
    in the recipe; 3 a step failed, or what it reads is not there.
    """
    from reprokit.harness import datasets
    from reprokit.reports import data_page

    note = partial(click.echo, err=True)
    found = datasets.prepared(
        name, project=project_of({}), backend=backend, twice=not once, again=again, note=note
    )
    print_answer(data_page.step_lines(found), data=lambda: data_page.step_rows(found), as_json=as_json)
    return 1 if any(one.problem for one in found) else 0


@command.command("verify", epilog=examples("reprokit data verify", "reprokit data verify my_recipe"))
@click.argument("names", nargs=-1, metavar="[RECIPE…]")
@json_option("Print a JSON list.")
def verify(names: tuple[str, ...], as_json: bool) -> int:
    """Read all data of recipes in the cache, and compare it with its digests.

    Exit codes: 0 as declared; 1 something was changed; 4 something is not there, or no recipe declares data.
    """
    from reprokit.data import SourceStatus
    from reprokit.harness import datasets

    found = datasets.verified(names, project=project_of({}))
    _print(found, as_json=as_json)
    states = {state.status for _, state in found}
    if SourceStatus.CHANGED in states:
        return 1
    return 0 if states == {SourceStatus.READY} else 4


@command.command("show", epilog=examples("reprokit data show my_recipe", "reprokit data show train.csv"))
@click.argument("name", metavar="RECIPE|TABLE")
@json_option()
def show(name: str, as_json: bool) -> int:
    """Show the manifest of each table: rows, columns, duplicates, and what texts and tokens hold.

    TABLE is a file or a folder, with its form behind it where the name does not say it:
    train.csv, all.h5::h5/train, photos::images, corpus.txt::documents, train.bin::tokens/uint16/64.

    Exit codes: 0; 2 no such table; 3 the data is not in the cache as declared.
    """
    from reprokit.harness import data_tables
    from reprokit.reports import data_page

    found = data_tables.shown(name, project=project_of({}))
    print_answer(
        data_page.manifest_lines(found),
        data=lambda: {called: one.as_data() for called, one in found.items()},
        as_json=as_json,
    )
    return 0


@command.command("diff", epilog=examples("reprokit data diff old.csv new.csv --key id"))
@click.argument("before", metavar="A")
@click.argument("after", metavar="B")
@click.option(
    "--key", multiple=True, metavar="COLUMN", help="A column that identifies a row; repeat for several."
)
@json_option()
def diff(before: str, after: str, key: tuple[str, ...], as_json: bool) -> int:
    """Say which rows came, went and changed from table A to table B.

    A and B are files or folders (see show), RECIPE:NAME, or sha256:DIGEST:csv of the cache.
    Exit codes: 0 the same rows in the same order; 1 they differ; 2 one is no table.
    """
    from reprokit.harness import data_tables
    from reprokit.reports import data_page

    found = data_tables.compared(before, after, key=key, project=project_of({}))
    print_answer(data_page.diff_lines(found), data=lambda: data_page.diff_data(found), as_json=as_json)
    return 0 if found.same_rows and not found.is_reordered else 1


@command.command(
    "split",
    epilog=examples("reprokit data split all.csv --part train=0.8 --part test=0.2 --output DIR"),
)
@click.argument("table", metavar="TABLE")
@click.option(
    "--part", "parts", multiple=True, required=True, metavar="NAME=SHARE", help="A part; shares make 1."
)
@click.option(
    "--output", required=True, type=click.Path(file_okay=False, path_type=Path), help="A new folder."
)
@click.option(
    "--key", multiple=True, metavar="COLUMN", help="A column that identifies a row  [default: all]."
)
@click.option("--stratify", default="", metavar="COLUMN", help="Keep the balance of this column's values.")
@click.option("--salt", default="", metavar="TEXT", help="Another one gives another split.")
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
    from reprokit.harness import data_tables
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


@command.command("check-splits", epilog=examples("reprokit data check-splits train.csv test.csv --key id"))
@click.argument("tables", nargs=-1, required=True, metavar="TABLE TABLE…")
@click.option(
    "--key", multiple=True, metavar="COLUMN", help="A column that identifies a row  [default: all]."
)
@json_option()
def check_splits(tables: tuple[str, ...], key: tuple[str, ...], as_json: bool) -> int:
    """Say which rows stand in more than one table.

    A table is a file or folder (see show), RECIPE:NAME, or sha256:DIGEST:csv of the cache.
    Exit codes: 0 none does; 1 some do, with their lines; 2 one is no table.
    """
    from reprokit.harness import data_tables
    from reprokit.reports import data_page

    found = data_tables.shared_rows(tables, key=key, project=project_of({}))
    print_answer(data_page.overlap_lines(found), data=lambda: data_page.overlap_data(found), as_json=as_json)
    return 1 if found.num_duplicates else 0


@command.command("export", epilog=examples("reprokit data export my_recipe --output data"))
@click.argument("name", metavar="RECIPE|TABLE")
@click.option(
    "--output", required=True, type=click.Path(path_type=Path), help="A new folder; of a TABLE, a new file."
)
@click.option(
    "--vocabulary",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A JSON list of characters: their places are the tokens.",
)
@json_option("Print manifest.json.")
def export(name: str, output: Path, vocabulary: Path | None, as_json: bool) -> int:
    """Copy the data of a recipe out of the cache, with a manifest.json of digests; or convert a table.

    A table is written as what the name of the output ends in: .csv, .tsv, .jsonl, .parquet, .arrow or .h5.
    A text becomes tokens in .npy or .bin, and tokens with --vocabulary a .txt. Where a row would not be the
    same, nothing is written.
    """
    from reprokit.harness import data_tables, datasets
    from reprokit.reports import one_line

    project = project_of({})
    if data_tables.is_table(output):
        made = {"files": data_tables.converted(name, output, vocabulary=vocabulary, project=project)}
    else:
        made = datasets.exported(name, output, project=project)
    lines = (
        one_line(f"{called}  {one['bytes']:,} bytes  {one['sha256']}")
        for called, one in made["files"].items()
    )
    print_answer(lines, data=lambda: made, as_json=as_json)
    return 0


def _shares(parts: tuple[str, ...]) -> dict[str, float]:
    """Name → share, as they were typed."""
    shares: dict[str, float] = {}
    for part in parts:
        found = re.fullmatch(r"([A-Za-z0-9][A-Za-z0-9_-]{0,63})=(0?\.[0-9]+|1(?:\.0*)?)", part)
        if found is None or found[1] in shares:
            raise click.BadParameter(f"{part!r} is not NAME=SHARE, such as train=0.8, or is there twice")
        shares[found[1]] = float(found[2])
    return shares


def _print(found: list[tuple[str, SourceState]], *, as_json: bool) -> None:
    from reprokit.reports import data_page

    if not found:
        click.echo("No recipe declares data by name.", err=True)
    if found or as_json:
        print_answer(data_page.state_lines(found), data=lambda: data_page.state_rows(found), as_json=as_json)


def _told() -> OnProgress:
    """A line on stderr for what happens, and every five seconds how far it is."""
    from reprokit.reports import one_line

    told_at = time.monotonic()

    def tell(source: DataSource, num_bytes: int, what: str) -> None:
        nonlocal told_at
        if not what and time.monotonic() - told_at < _TOLD_EVERY_S:
            return
        told_at = time.monotonic()
        done = f"{num_bytes / 1e6:,.1f} of {source.num_bytes / 1e6:,.1f} MB"
        click.echo(one_line(f"{source.name}: {what or done}", limit=2000), err=True)

    return tell
