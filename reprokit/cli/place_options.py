"""The options that say where runs are made: ``--on``, and what the engine there is told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from reprokit.cli.options import all_of


def place_options(*, default: str | None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """``--on``, ``--address`` and ``--slurm``; ``default`` None: someone must say where, or nothing is."""
    places = "ray or slurm" if default is None else "local, ray or slurm"
    return all_of(
        click.option(
            "--on",
            default=default,
            show_default=default is not None,
            metavar="PLACE",
            help=f"Where runs are made: {places}.",
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
    )


def place_settings(on: str | None, address: str | None, slurm: tuple[str, ...]) -> dict[str, str]:
    """What the engine is told, by name.

    Raises:
        UsageError: It is told to another engine, or has no value.
    """
    from reprokit.errors import UsageError

    if address is not None and on != "ray":
        raise UsageError("--address is that of a Ray cluster", fix="add --on ray")
    if slurm and on != "slurm":
        raise UsageError("--slurm is for runs on Slurm", fix="add --on slurm")
    wrong = next((text for text in slurm if "=" not in text), None)
    if wrong is not None:
        raise UsageError("a value is missing", where=f"--slurm {wrong}", expected="NAME=VALUE")
    told = dict(text.split("=", 1) for text in slurm)
    return {**told, **({"address": address} if address else {})}
