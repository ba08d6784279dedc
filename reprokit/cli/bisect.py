"""``reprokit bisect``: the commit that changed the numbers."""

from __future__ import annotations

from typing import Any

import click

from reprokit.cli.options import examples, folder_options, project_of, request_of, run_options


@click.command(
    "bisect",
    short_help="Name the commit that changed a recipe's numbers.",
    epilog=examples(
        "reprokit bisect cartpole_baseline --good v1.0 --bad HEAD",
        "reprokit bisect pg --good v1.0 --bad HEAD --set training.n_epochs=2",
    ),
)
@click.argument("recipe")
@click.option("--good", required=True, metavar="COMMIT", help="A commit with the right numbers.")
@click.option("--bad", required=True, metavar="COMMIT", help="A later commit with other numbers.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
@run_options
@folder_options
def command(recipe: str, good: str, bad: str, as_json: bool, **options: Any) -> int:
    """Drive git bisect with the gate, in a work tree of its own; name the commit that changed the numbers.

    The numbers of the good commit are the reference. A commit that cannot run is skipped, not guilty.
    Commits that touch nothing that the recipe stands on are not trained again.

    Exit codes: 0 one commit is named; 4 several are left, or there is nothing to find; 3 good or bad
    cannot run.
    """
    import dataclasses
    import json

    from reprokit.cli import show_report
    from reprokit.harness.attribution import bisect
    from reprokit.reports import bisection_page

    request, project = request_of(options), project_of(options)
    with show_report.progress() as progress:
        found = bisect(recipe, good=good, bad=bad, request=request, project=project, progress=progress)
    if as_json:
        click.echo(json.dumps(dataclasses.asdict(found), indent=2))
    else:
        click.echo("\n".join(bisection_page.page_lines(found)))
    return 0 if len(found.guilty) == 1 else 4
