"""``--on``, and what is passed to the engine there, of ``sweep``, ``verify`` and ``golden record``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from reprokit.cli.extensions import Extension, Options, typed_of_others
from reprokit.cli.help_pages import Title, titled
from reprokit.cli.options import project_of, request_of
from reprokit.features.machines.place import ELSEWHERE, places


def place_options(*, default: str | None) -> tuple[Callable[[Any], Any], ...]:
    """``--on``, ``--address`` and ``--slurm``; ``default`` None: someone must say where, or nothing is."""
    named = " or ".join(places() if default is None else (default, *places()))
    return (
        titled(
            Title.CLUSTER,
            click.option(
                "--on",
                default=default,
                show_default=default is not None,
                metavar="PLACE",
                help=f"Where runs are made: {named}.",
            ),
            click.option(
                "--address", metavar="HOST:PORT", help="The Ray cluster  [default: the one on this machine]."
            ),
            click.option(
                "--slurm",
                "slurm",
                multiple=True,
                metavar="NAME=VALUE",
                help="Options for Slurm: partition, account, gres, constraint, qos, time (minutes).",
            ),
            click.option(
                "--place",
                "place",
                multiple=True,
                metavar="NAME=VALUE",
                help="Options for a place that an extension brings.",
            ),
        ),
    )


def place_settings(options: Options) -> dict[str, str]:
    """What is passed to the engine, by name.

    Raises:
        UsageError: It is for another engine, or has no value.
    """
    from reprokit.errors import UsageError

    on, address, slurm, foreign = (options[name] for name in ("on", "address", "slurm", "place"))
    if address is not None and on != "ray":
        raise UsageError("--address is that of a Ray cluster", fix="add --on ray")
    if slurm and on != "slurm":
        raise UsageError("--slurm is for runs on Slurm", fix="add --on slurm")
    if foreign and (on in {None, "local"} or on in ELSEWHERE):
        raise UsageError("--place is for a place that an extension brings", fix="add --on with its name")
    for option, text in [*(("--slurm", text) for text in slurm), *(("--place", text) for text in foreign)]:
        if "=" not in text:
            raise UsageError("a value is missing", where=f"{option} {text}", expected="NAME=VALUE")
    told = dict(text.split("=", 1) for text in (*slurm, *foreign))
    return {**told, **({"address": address} if address else {})}


#: What has no meaning where whole pairs are made on a cluster: name → as it is typed. Of other features, all.
_OF_ONE_MACHINE = {
    "changed": "--changed",
    "statistical": "--statistical",
    "gate_file": "--gate-file",
    "html": "--html",
    "resume": "--resume",
    "vary": "--vary",
    "attribute": "--attribute",
    "diagnose": "--diagnose",
    "overrides": "--set",
    "platform": "--platform",
    "exclusive": "--exclusive",
}


def _verified(options: Options) -> int | None:
    """Answer ``verify --on``."""
    settings = place_settings(options)
    if options["on"] is None:
        return None
    own = (typed for name, typed in _OF_ONE_MACHINE.items() if options.get(name))
    wrong = next(iter((*typed_of_others("verify", options, but=VERIFY), *own)), None)
    if wrong is not None:
        raise click.UsageError(f"{wrong} is for runs on this machine; leave out --on")
    return _matrix(dict(options), settings)


def _matrix(options: dict[str, Any], settings: dict[str, str]) -> int:
    """Print what was judged on every kind of CPU; returns the exit code."""
    from reprokit import harness, workspace
    from reprokit.cli.output import print_json
    from reprokit.errors import MissingExtraError
    from reprokit.features.machines import farm, machine_matrix
    from reprokit.reports import sweep_display

    project = project_of(options)
    page = project.reports_dir / "machines.html"
    page.unlink(missing_ok=True)  # that of an earlier call would stand for this one if it crashed
    with sweep_display.SweepDisplay() as progress:
        rows = farm.verify_on(
            harness.SweepAsked(names=options["recipes"], on=options["on"], place_settings=settings),
            request_of(options),
            session=harness.SweepSession(project=project, progress=progress),
        )
    code = harness.gate_code(rows)
    try:
        text = machine_matrix.to_html(rows, exit_code=code)
    except MissingExtraError as error:  # what was judged is told all the same
        text = ""
        click.echo(f"Warning: the page {page.name} was left out: {error}", err=True)
    if text:
        workspace.write_named(page, text.encode("utf-8"))
    if options["as_json"]:
        drawn = str(page) if text else None
        print_json({"exit_code": code, "rows": machine_matrix.data(rows), "page": drawn})
        return code
    click.echo("\n".join(machine_matrix.lines(rows)))
    if text:
        click.echo(f"Page: {page}", err=True)
    return code


def _asked(options: Options) -> dict[str, Any]:
    """What ``sweep`` is asked for."""
    return {"on": options["on"], "place_settings": place_settings(options)}


VERIFY = Extension(options=place_options(default=None), answers=_verified)
SWEEP = Extension(options=place_options(default="local"), asks=_asked)
