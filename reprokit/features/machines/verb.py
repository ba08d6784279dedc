"""``reprokit golden record``, ``runs attach`` and ``runs carry-out``: what is made on a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from reprokit.cli.help_pages import Command, Option, Title, titled
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
from reprokit.features.machines.options import place_options, place_settings
from reprokit.features.machines.place import places


@click.command(
    "record",
    cls=Command,
    common="on reason seeds backend json",
    epilog=examples(
        "reprokit golden record cartpole_baseline --on ray --reason 'first goldens'",
        "reprokit golden record pg --on slurm --slurm time=60 --reason 'numpy 2.5'",
    ),
)
@click.argument("recipes", nargs=-1, required=True, metavar="RECIPE…")
@titled(Title.CLUSTER, *place_options(default=None))
@click.option("--reason", required=True, help="Why these numbers are expected from now on.")
@click.option("--seeds", metavar="SEEDS", help="As in `reprokit sweep`  [default: the recipe's].")
@click.option("--allow-dirty", is_flag=True, help="Allow runs of a work tree with uncommitted changes.")
@json_option("Print the rows as a JSON object.")
@backend_option(metavar="BACKEND", help="docker, local (virtual environment from the same lock) or auto.")
@base_option(metavar="BASE", help="What the image is built on: registry, bootstrap or auto.")
@timeout_option()
@engine_option
@folder_options
def record(recipes: tuple[str, ...], as_json: bool, **options: Any) -> int:
    """Record a golden of each RECIPE and seed on every kind of CPU of a cluster.

    Two new runs are made on each kind of CPU. Under the portable profile one golden holds everywhere, and all
    runs on all CPUs must agree byte for byte. Else each kind of CPU has a golden of its own, which runs on it
    are compared with in place of that of the platform.

    Exit codes: 0 all are recorded; 1 runs differ; 2 runs that cannot be a golden; 3 a run did not finish; 4 a
    machine was busy, so that its CPU is not known.
    """
    from datetime import UTC, datetime

    from reprokit import golden, harness
    from reprokit.errors import UsageError
    from reprokit.features.machines import farm, machine_matrix
    from reprokit.reports import sweep_display

    if options["on"] is None:
        raise UsageError(
            "say which cluster",
            expected=" or ".join(f"--on {name}" for name in places()),
            fix="on this machine: `reprokit reproduce RECIPE`, `reprokit golden promote RECIPE`",
        )
    with sweep_display.SweepDisplay() as progress:
        rows = farm.record_goldens(
            harness.SweepAsked(
                names=recipes,
                seeds=options["seeds"],
                on=options["on"],
                place_settings=place_settings(options),
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


@click.command(
    "attach", cls=Command, epilog=examples("reprokit runs attach runs/sweeps/cartpole_baseline-1f2e3d4c")
)
@click.argument("sweep", type=click.Path(exists=True, path_type=Path))
@json_option("Print the members as a JSON object.")
@folder_options
def attach(sweep: Path, as_json: bool, **options: Any) -> int:
    """Find the runs of SWEEP on a cluster again after the tool was killed, and continue it.

    What still runs there is followed, what was lost is tried again. SWEEP is its folder or its sweep.json.

    Exit codes: 0 all members are finished; 3 some are not; 130 and 143 interrupted.
    """
    from reprokit import harness, runs
    from reprokit.features.machines import sweep_on_machines
    from reprokit.reports import sweep_display, sweep_table

    with sweep_display.SweepDisplay() as progress:
        answer = sweep_on_machines.attach(
            sweep, session=harness.SweepSession(project=project_of(options), progress=progress)
        )
    lines = sweep_table.sweep_lines(
        answer.members,
        answer.actions,
        name=answer.name,
        path=answer.path,
        dry_run=False,
        warnings=answer.warnings,
    )
    found = runs.sweeps.as_data(answer.name, answer.members)
    told = {**found, "warnings": list(answer.warnings), "exit_code": answer.exit_code}
    print_answer(lines, data=lambda: told, as_json=as_json)
    return answer.exit_code


@click.command(
    "carry-out",
    cls=Command,
    hidden=True,
    epilog=examples("reprokit runs carry-out runs/sweeps/NAME/jobs/RUN.json"),
)
@click.argument("job", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--node", default="", metavar="NAME", help="What the cluster calls this machine.")
@click.option(
    "--stop-when-closed",
    "until_closed",
    cls=Option,
    formerly="--until-closed",
    type=int,
    metavar="FD",
    help="Stop when this pipe is closed.",
)
@click.option("--ask-resume", is_flag=True, help="Exit code 0 if JOB would get further when started again.")
def carry_out(job: Path, node: str, until_closed: int | None, ask_resume: bool) -> int:
    """Make the run that JOB describes, on this machine: what `sweep --on` hands to Ray and Slurm.

    The run's folder says how it ended. A job that Slurm began again makes another attempt, from the newest
    checkpoint where the recipe has a trainer.

    Exit codes: 0 it completed; 2 JOB cannot be read; 3 it did not complete; 130 and 143 stopped.
    """
    from reprokit import runs
    from reprokit.features.machines import on_this_machine

    if ask_resume:
        return 0 if on_this_machine.goes_on_from_a_checkpoint(job) else 3
    why = on_this_machine.WhyStopped()
    on_this_machine.stop_at_time_limit(why)
    if until_closed is not None:
        on_this_machine.stop_when_closed(until_closed, why)
    folder = on_this_machine.carry_out_job(job, node=node, why=why)
    return 0 if folder is None or runs.read(folder, verify=False).complete else 3
