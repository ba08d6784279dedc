"""``reprokit bisect``: the commit that changed the numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from reprokit.cli.options import examples, folder_options, project_of, request_of, run_options

if TYPE_CHECKING:
    from reprokit.harness.attribution import Bisection

_MOST_FILES = 10


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

    The numbers of the good commit are the yardstick. A commit that cannot run is skipped, not guilty.
    Commits that touch nothing that the recipe stands on are not trained again.

    Exit codes: 0 one commit is named; 4 several are left, or there is nothing to find; 3 good or bad
    cannot run.
    """
    import dataclasses
    import json

    from reprokit.cli import show_report
    from reprokit.harness.attribution import bisect

    request, project = request_of(options), project_of(options)
    with show_report.progress() as progress:
        found = bisect(recipe, good=good, bad=bad, request=request, project=project, progress=progress)
    if as_json:
        click.echo(json.dumps(dataclasses.asdict(found), indent=2))
    else:
        click.echo("\n".join(_page(found)))
    return 0 if len(found.guilty) == 1 else 4


def _page(found: Bisection) -> list[str]:
    from reprokit.cli.tables import shown

    if len(found.guilty) == 1:
        lines = [f"The numbers changed in {_named(found.guilty[0])}"]
    else:
        lines = ["The numbers changed in one of these; those between cannot run:"]
        lines += [f"  {_named(one)}" for one in found.guilty]
    for one in found.guilty if len(found.guilty) == 1 else ():
        lines += [f"  {shown(setting)}" for setting in one.settings]
        for file in one.files[:_MOST_FILES]:
            counts = "not text" if file.added is None else f"+{file.added} -{file.removed} lines"
            lines.append(f"  {shown(file.path)}  {counts}")
        lines.append(f"Next: git show {one.commit[:12]}")
    trained = sum(one.trained for one in found.tested)
    lines.append(f"{len(found.tested)} commits asked about, {trained} of them trained:")
    lines += [
        f"  {one.result:<4}  {one.commit[:12]}  {shown(one.subject)}"
        + (f"  ({shown(one.detail)})" if one.detail else "")
        for one in found.tested
    ]
    return lines


def _named(one: Any) -> str:
    from reprokit.cli.tables import shown

    return f"{one.commit[:12]}  {shown(one.subject)}"
