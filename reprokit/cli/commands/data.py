"""``reprokit data``: fetch, list, verify and export what recipes read."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reprokit.cli.extensions import ExtensibleGroup, answer_of, feature_options
from reprokit.cli.help_pages import Option
from reprokit.cli.options import examples, json_option, project_of
from reprokit.cli.output import print_answer
from reprokit.request import BACKENDS

if TYPE_CHECKING:
    from reprokit.data import DataSource, OnProgress, SourceState

_TOLD_EVERY_S = 5.0


@click.group(
    "data",
    cls=ExtensibleGroup,
    short_help="Fetch, list and verify the data that recipes declare.",
    epilog=examples("reprokit data fetch my_recipe"),
)
def command() -> None:
    """Data that recipes declare by name: fetched once, checked against its digest, shared by all recipes.

    It is kept in the cache: $REPROKIT_CACHE, else $XDG_CACHE_HOME/reprokit, else ~/.cache/reprokit.
    """


@command.command("list", epilog=examples("reprokit data list", "reprokit data list my_recipe --json"))
@click.argument("names", nargs=-1, metavar="[RECIPE…]")
@json_option("Print a JSON list.")
def list_(names: tuple[str, ...], as_json: bool) -> int:
    """List the data of all recipes, and whether it is on this machine. Nothing is read or fetched."""
    from reprokit.harness import datasets

    _print(datasets.listed(names, project=project_of({})), as_json=as_json)
    return 0


@command.command(
    "fetch", epilog=examples("reprokit data fetch my_recipe", "reprokit data fetch --allow-none")
)
@click.argument("names", nargs=-1, metavar="[RECIPE…]")
@click.option("--offline", is_flag=True, help="Use no network; so does REPROKIT_OFFLINE=1.")
@click.option(
    "--allow-none",
    "if_any",
    cls=Option,
    formerly="--if-any",
    is_flag=True,
    help="Accept recipes that declare nothing to fetch.",
)
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
@click.option("--again", is_flag=True, help="Also run steps that already ran on exactly these inputs.")
@click.option("--backend", type=click.Choice(BACKENDS), default="auto", show_default=True, help="How to run.")
@json_option("Print a JSON list of the records.")
def prepare(name: str, once: bool, again: bool, backend: str, as_json: bool) -> int:
    """Run the steps under `prepare` of a recipe twice, in its pinned environment, and compare the bytes.

    Exit codes: 0 as declared; 1 two preparations differ, or a file is not the declared one; 2 a mistake
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


@command.command("export", epilog=examples("reprokit data export my_recipe --output data"))
@click.argument("name", metavar="RECIPE|TABLE")
@click.option(
    "--output", required=True, type=click.Path(path_type=Path), help="A new folder; of a TABLE, a new file."
)
@feature_options("data export")
@json_option("Print manifest.json.")
def export(**options: Any) -> int:
    """Copy the data of a recipe out of the cache, with a manifest.json of digests; or convert a table.

    A table is written as what the name of the output ends in: .csv, .tsv, .jsonl, .parquet, .arrow or .h5.
    A text becomes tokens in .npy or .bin, and tokens with --vocabulary a .txt. Where a row would not be the
    same, nothing is written.
    """
    answered = answer_of("data export", options)
    if answered is not None:
        return answered
    from reprokit.harness import datasets

    made = datasets.exported(options["name"], options["output"], project=project_of({}))
    print_files(made, as_json=options["as_json"])
    return 0


def print_files(made: Mapping[str, Any], *, as_json: bool) -> None:
    """Print which files were written."""
    from reprokit.reports import one_line

    lines = (
        one_line(f"{called}  {one['bytes']:,} bytes  {one['sha256']}")
        for called, one in made["files"].items()
    )
    print_answer(lines, data=lambda: made, as_json=as_json)


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
