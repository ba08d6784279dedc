"""``reprokit recipe``: check recipes without running them, and their schema for editors."""

from __future__ import annotations

from typing import Any

import click

from reprokit.cli.help_pages import Group
from reprokit.cli.options import examples, folder_options, json_option, project_of
from reprokit.cli.output import print_json


@click.group(
    "recipe",
    cls=Group,
    short_help="Check recipes without running them; print their schema.",
    epilog=examples("reprokit recipe check"),
)
def command() -> None:
    """A recipe says what to run and what must repeat, in recipes/<name>/recipe.yaml."""


@command.command("check", epilog=examples("reprokit recipe check", "reprokit recipe check cartpole_baseline"))
@click.argument("names", nargs=-1, metavar="[RECIPE…]")
@json_option()
@folder_options
def check(names: tuple[str, ...], as_json: bool, **options: Any) -> int:
    """List the mistakes in a recipe, each with its line, and what it lacks. Nothing is run.

    Exit codes: 0 no mistake; 2 mistakes; 4 there is no recipe.
    """
    import dataclasses

    from reprokit.harness import curation
    from reprokit.reports import one_line

    found = curation.check_recipes(project_of(options), names=names)
    if as_json:
        print_json({name: [dataclasses.asdict(one) for one in rows] for name, rows in found.items()})
    for name, rows in () if as_json else found.items():
        mistakes = sum(row.level == "mistake" for row in rows)
        click.echo(f"{one_line(name)}: {'no mistakes' if not mistakes else 'cannot run'}")
        for row in rows:
            for line in row.what.splitlines():
                click.echo(f"  {row.level}: {one_line(line.strip())}")
            if row.fix:
                click.echo(f"  hint: {one_line(row.fix)}")
    if not found:
        click.echo("No recipe was checked: there is none under recipes/.", err=True)
        return 4
    return 2 if any(row.level == "mistake" for rows in found.values() for row in rows) else 0


@command.command("schema", epilog=examples("reprokit recipe schema > recipe.schema.json"))
@click.option("--trainer", metavar="NAME", help="Include the sections of this trainer.")
@json_option("Print JSON, as it is without.")
def schema(trainer: str | None, as_json: bool) -> int:
    """Print the JSON Schema of recipe.yaml, for editors.

    An editor with the YAML language server takes it from a first line such as
    `# yaml-language-server: $schema=../recipe.schema.json`.
    """
    from reprokit import recipes

    del as_json  # a schema has no other form
    recipes_dir = project_of({}).recipes_dir
    print_json(recipes.editor_schema(recipes_dir=recipes_dir, trainer=trainer))
    return 0
