"""``reprokit verify --cpu``: the first updates on emulated CPUs, in place of whole trainings."""

from __future__ import annotations

from collections.abc import Sequence

import click

from reprokit.cli.extensions import Extension, Options, typed_of_others
from reprokit.cli.help_pages import titled
from reprokit.cli.options import number_option, project_of, request_of
from reprokit.cli.output import print_json
from reprokit.session import Session

#: Options that would be promised and not kept: name → as it is typed. Of other features, all.
_OF_WHOLE_TRAININGS = {
    "platform": "--platform",
    "exclusive": "--exclusive",
    "gate_file": "--gate-file",
    "html": "--html",
    "changed": "--changed",
    "statistical": "--statistical",
    "resume": "--resume",
    "stop_at": "--stop-at",
    "vary": "--vary",
    "attribute": "--attribute",
    "diagnose": "--diagnose",
}


def _answered(options: Options) -> int | None:
    if not options["cpus"]:
        return None
    core = (
        typed for name, typed in _OF_WHOLE_TRAININGS.items() if options.get(name) not in (None, False, ())
    )
    wrong = next(iter((*typed_of_others("verify", options, but=EXTENSION), *core)), None)
    if wrong is not None:
        raise click.UsageError(f"{wrong} is for whole trainings, not for --cpu")
    from reprokit import harness
    from reprokit.cli import show_report
    from reprokit.features.numerics.cpu_answers import answer_data, answer_lines
    from reprokit.features.numerics.verify_cpus import verify_cpus

    asked, cpus = dict(options), _models(options["cpus"])
    with show_report.progress() as progress:
        answers = verify_cpus(
            request_of(asked),
            cpus=cpus,
            session=Session(project=project_of(asked), progress=progress),
            names=asked["recipes"],
            updates=asked["updates"],
        )
    code = harness.gate_code(answers)
    if asked["as_json"]:
        print_json({"exit_code": code, "answers": [answer_data(answer) for answer in answers]})
        return code
    for answer in answers:
        click.echo("\n".join(answer_lines(answer)))
    if not answers:
        click.echo("no recipe was judged", err=True)
    elif any(answer.cpu.endswith("without AVX-512") for answer in answers):
        click.echo("The emulator has no AVX-512; only a native run shows what a CPU with AVX-512 computes.")
    return code


def _models(typed: Sequence[str]) -> tuple[str, ...]:
    """Models from ``--cpu A,B --cpu C``, each once."""
    named = [name.strip() for models in typed for name in models.split(",")]
    found = tuple(dict.fromkeys(name for name in named if name))
    if not found:
        raise click.UsageError("--cpu needs a model, such as: --cpu Haswell,EPYC")
    return found


EXTENSION = Extension(
    options=(
        titled(
            "On emulated CPUs",
            click.option(
                "--cpu",
                "cpus",
                multiple=True,
                metavar="MODEL[,MODEL…]",
                help="Only the first updates, on these CPUs (`qemu-x86_64 -cpu help` lists them).",
            ),
            number_option("--updates", least=3, most=8, default=3, help="With --cpu: how many updates."),
        ),
    ),
    answers=_answered,
)
