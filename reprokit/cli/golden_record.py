"""``reprokit golden record``: goldens on every kind of CPU of a Ray or Slurm cluster."""

from __future__ import annotations

from typing import Any

import click

from reprokit.cli.options import (
    backend_option,
    base_option,
    engine_option,
    examples,
    folder_options,
    json_option,
    project_of,
    request_of,
    timeout_option,
)
from reprokit.cli.output import print_answer
from reprokit.cli.place_options import place_options, place_settings


@click.command(
    "record",
    epilog=examples(
        "reprokit golden record cartpole_baseline --on ray --reason 'first goldens'",
        "reprokit golden record pg --on slurm --slurm time=60 --reason 'numpy 2.5'",
    ),
)
@click.argument("recipes", nargs=-1, required=True, metavar="RECIPE…")
@place_options(default=None)
@click.option("--reason", required=True, help="Why these numbers are expected from now on.")
@click.option("--seeds", metavar="SEEDS", help="As of `reprokit sweep`  [default: the recipe's].")
@click.option("--allow-dirty", is_flag=True, help="Allow runs of a work tree with uncommitted changes.")
@json_option("Print the rows as a JSON object.")
@engine_option
@backend_option(metavar="BACKEND", help="docker, local (virtual environment from the same lock) or auto.")
@base_option(metavar="BASE", help="What the image is built on: registry, bootstrap or auto.")
@timeout_option()
@folder_options
def record(recipes: tuple[str, ...], as_json: bool, **options: Any) -> int:
    """Record a golden of each RECIPE and seed on every kind of CPU of a Ray or Slurm cluster.

    Two new runs are made on each kind of CPU. Under the portable profile one golden holds everywhere, and all
    runs on all CPUs must agree byte for byte. Else each kind of CPU has a golden of its own, which runs on it
    are compared with in place of that of the platform.

    Exit codes: 0 all are recorded; 1 runs differ; 2 runs that cannot be a golden; 3 a run did not finish; 4 a
    machine was busy, so that its CPU is not known.
    """
    from datetime import UTC, datetime

    from reprokit import golden, harness
    from reprokit.errors import UsageError
    from reprokit.reports import machine_matrix, sweep_display

    if options["on"] is None:
        raise UsageError(
            "say which cluster",
            expected="--on ray or --on slurm",
            fix="on this machine: `reprokit reproduce RECIPE`, `reprokit golden promote RECIPE`",
        )
    with sweep_display.SweepDisplay() as progress:
        rows = harness.record_goldens(
            harness.SweepAsked(
                names=recipes,
                seeds=options["seeds"],
                on=options["on"],
                place_settings=place_settings(options["on"], options["address"], options["slurm"]),
            ),
            request_of(options),
            session=harness.SweepSession(
                project=project_of(options, may_lack_goldens=True), progress=progress
            ),
            promotion=golden.Promotion(
                reason=options["reason"],
                created_at=datetime.now(UTC).isoformat(timespec="seconds"),
                allow_dirty=options["allow_dirty"],
            ),
        )
    code = harness.gate_code(rows)
    print_answer(
        machine_matrix.lines(rows),
        data=lambda: {"exit_code": code, "rows": machine_matrix.data(rows)},
        as_json=as_json,
    )
    return code
