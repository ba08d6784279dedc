"""``reprokit sweep``: runs over seeds and settings, made once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from reprokit.cli.options import (
    all_of,
    backend_option,
    base_option,
    engine_option,
    examples,
    json_option,
    number_option,
    project_of,
    request_of,
    timeout_option,
)
from reprokit.cli.output import print_answer

_member_options = all_of(
    click.option(
        "--seeds",
        metavar="SEEDS",
        help="Seeds (42,123), a range with both ends (0..9), or how many (5)  [default: the recipe's].",
    ),
    click.option(
        "--set",
        "settings",
        multiple=True,
        metavar="PATH=VALUE,VALUE",
        help="Values of a setting; several --set make a grid.",
    ),
)


@click.command(
    "sweep",
    short_help="Run recipes over seeds and settings, each run once.",
    epilog=examples(
        "reprokit sweep cartpole_baseline --seeds 42,123,456,789,1024",
        "reprokit sweep cartpole_baseline cartpole_dqn --seeds 5",
        "reprokit sweep cartpole_baseline --set training.gamma=0.98,0.99 --dry-run",
    ),
)
@click.argument("recipes", nargs=-1, required=True, metavar="RECIPE…")
@_member_options
@number_option("--jobs", least=1, help="Members side by side  [default: a core each].")
@click.option("--on", default="local", show_default=True, metavar="PLACE", help="Where runs are made.")
@click.option("--dry-run", is_flag=True, help="List what would be run, used again or tried again.")
@json_option("Print the members as a JSON object.")
@engine_option
@backend_option(metavar="BACKEND", help="docker, local (virtual environment from the same lock) or auto.")
@base_option(metavar="BASE", help="What the image is built on: registry, bootstrap or auto.")
@timeout_option()
@click.option(
    "--runs-dir",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of runs  [default: runs/].",
)
def command(recipes: tuple[str, ...], as_json: bool, **options: Any) -> int:
    """Run every RECIPE with every seed and combination of settings, each in a run folder of its own.

    A member is finished where its run is complete, unmodified, and of the same code, settings, seed and
    environment; it is not run again. The same command goes on where it was stopped. A member that
    crashed is a row that says so; the next call tries it again.

    --seeds 5 takes the first five that the recipe declares, and counts on from the largest if it declares
    fewer; one seed is `--seeds 42,`.

    Exit codes: 0 all members are finished; 3 some are not; 2 wrong usage; 130 and 143 interrupted.
    """
    from reprokit import harness, runs
    from reprokit.reports import sweep_display, sweep_table

    with sweep_display.SweepDisplay() as progress:
        answer = harness.sweep(
            recipes,
            request_of(options),
            project=project_of(options),
            progress=progress,
            seeds=options["seeds"],
            settings=options["settings"],
            jobs=options["jobs"],
            on=options["on"],
            dry_run=options["dry_run"],
        )

    def data() -> dict[str, Any]:
        found = runs.sweeps.as_data(answer.name, answer.members)
        rows = [
            {**row, "action": action} for row, action in zip(found["members"], answer.actions, strict=True)
        ]
        code = 0 if options["dry_run"] else answer.exit_code
        return {**found, "members": rows, "path": answer.path, "exit_code": code}

    lines = sweep_table.sweep_lines(
        answer.members, answer.actions, name=answer.name, path=answer.path, dry_run=options["dry_run"]
    )
    print_answer(lines, data=data, as_json=as_json)
    return 0 if options["dry_run"] else answer.exit_code
