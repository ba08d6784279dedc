"""``reprokit verify --cpu``: the first updates on CPUs that this machine is not.

This module knows the options and how answers are printed; it refuses to know how a CPU is emulated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from reprokit.cli.options import project_of, request_of

if TYPE_CHECKING:
    from reprokit.harness import CpuAnswer

_Function = TypeVar("_Function", bound=Callable[..., Any])


def cpu_options(function: _Function) -> _Function:
    """``--cpu`` and ``--updates``."""
    names = click.option(
        "--cpu",
        "cpus",
        multiple=True,
        metavar="MODEL[,MODEL…]",
        help="Only the first updates, on emulated CPUs (`qemu-x86_64 -cpu help` lists them).",
    )
    updates = click.option(
        "--updates",
        type=click.IntRange(3, 8),
        default=3,
        show_default=True,
        metavar="N",
        help="With --cpu: how many updates.",
    )
    return names(updates(function))


def verify(recipes: Sequence[str], options: dict[str, Any]) -> int:
    """Answer ``--cpu``; returns the exit code."""
    import json

    from reprokit import harness
    from reprokit.cli import show_report

    cpus = models(options["cpus"])
    with show_report.progress() as progress:
        answers = harness.verify_cpus(
            request_of(options),
            cpus=cpus,
            project=project_of(options),
            progress=progress,
            names=recipes,
            updates=options["updates"],
        )
    code = harness.gate_code(answers)
    if options["as_json"]:
        click.echo(json.dumps({"exit_code": code, "answers": [as_data(one) for one in answers]}, indent=2))
        return code
    for answer in answers:
        for line in lines(answer):
            click.echo(line)
    if not answers:
        click.echo("no recipe was judged", err=True)
    elif any(answer.cpu.endswith("without AVX-512") for answer in answers):
        click.echo("The emulator has no AVX-512: what such a CPU computes, only a native run on one shows.")
    return code


def models(typed: Sequence[str]) -> tuple[str, ...]:
    """Models from ``--cpu A,B --cpu C``, each once.

    Raises:
        click.UsageError: None was named.
    """
    named = [name.strip() for one in typed for name in one.split(",")]
    found = tuple(dict.fromkeys(name for name in named if name))
    if not found:
        raise click.UsageError("--cpu wants a model, such as: --cpu Haswell,EPYC")
    return found


def lines(answer: CpuAnswer) -> list[str]:
    """An answer as people read it."""
    from reprokit.cli.tables import shown

    seed = "" if answer.seed is None else f"  seed {answer.seed}"
    head = f"{answer.recipe}{seed}  {answer.cpu}: {answer.verdict}"
    told = [shown(head), f"  {shown(answer.sentence, limit=2000)}"]
    if answer.remedy:
        told.append(f"  Do: {shown(answer.remedy, limit=1000)}")
    if answer.exit_code and answer.folder is not None:
        told.append(f"  Obtained: {shown(answer.folder, limit=1000)}")
    return told


def as_data(answer: CpuAnswer) -> dict[str, Any]:
    """An answer for ``--json``."""
    keys = ("recipe", "seed", "cpu", "sentence", "against", "updates", "first", "remedy", "exit_code")
    guilty = [
        {
            **{key: getattr(one, key) for key in ("name", "operation", "calls", "differing", "elements")},
            "inputs": "recorded" if one.recorded else "generated",
            "shape": list(one.shape),
            "dtype": one.dtype,
        }
        for one in answer.guilty
    ]
    folder = str(answer.folder) if answer.folder else None
    told = {key: getattr(answer, key) for key in keys}
    return {**told, "verdict": str(answer.verdict), "guilty": guilty, "folder": folder}
