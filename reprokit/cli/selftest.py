"""``reprokit selftest``: the gate proves itself."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reprokit.cli.options import examples, folder_options, project_of

if TYPE_CHECKING:
    from reprokit.harness.selftest import Proof, Score

_EXISTING = click.Path(exists=True, file_okay=False, path_type=Path)
_SHOWN = 10


@click.command(
    "selftest",
    short_help="Plant faults in copies of runs; each must lead to its verdict.",
    epilog=examples(
        "reprokit selftest cartpole_baseline",
        "reprokit selftest cartpole_baseline --faults 5000 --clean 1000",
        "reprokit selftest --runs RUN RUN --only flipped-bit/run-1/sealed/0",
    ),
)
@click.argument("recipe", required=False)
@click.option(
    "--faults",
    "num_faults",
    type=click.IntRange(0, 10**6),
    default=1000,
    show_default=True,
    metavar="N",
    help="How many faults.",
)
@click.option(
    "--clean",
    "num_clean",
    type=click.IntRange(0, 10**6),
    default=100,
    show_default=True,
    metavar="N",
    help="How many copies without one.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    default=0,
    show_default=True,
    metavar="S",
    help="What the faults follow from.",
)
@click.option("--only", metavar="ID", help="Plant one fault again, by the ID that was printed.")
@click.option(
    "--runs",
    "named",
    nargs=2,
    type=_EXISTING,
    metavar="RUN RUN",
    help="Two runs to copy  [default: the newest pair].",
)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
@folder_options
def command(recipe: str | None, named: tuple[Path, ...] | None, as_json: bool, **options: Any) -> int:
    """Plant faults in copies of real runs and of their golden, judge each, and count.

    The copies are those of the newest finished pair of RECIPE (of the newest run's recipe when left
    out); without one, it is trained first. No run and no golden is changed.

    Exit codes: 0 every fault led to its verdict and every clean copy to REPRODUCED; 1 something was
    missed; 4 these runs prove nothing about the gate.
    """
    import json

    from reprokit.cli import show_report
    from reprokit.harness import selftest

    project = project_of(options)
    with show_report.progress() as progress:
        found = selftest.find(recipe, project=project, progress=progress, named=named or ())
        score = selftest.run(
            found.samples,
            num_faults=options["num_faults"],
            num_clean=options["num_clean"],
            seed=options["seed"],
            only=options["only"],
            progress=progress,
        )
    score.notes[:0] = found.notes
    where = ["--runs", *map(str, named)] if named else [found.samples.recipe]
    if as_json:
        click.echo(json.dumps(to_json(score, found.samples.recipe, where), indent=2))
    elif options["only"]:
        _print_one(score)
    else:
        click.echo(f"Runs: {', '.join(run.name for run in found.samples.runs)} of {found.samples.recipe}")
        print_score(score, where)
    return score.exit_code


def print_score(score: Score, where: list[str]) -> None:
    """The score a kind, then what was missed and how to see it again."""
    import sys

    from rich.console import Console
    from rich.table import Table

    from reprokit.reports.escaping import one_line

    table = Table(box=None, pad_edge=False, header_style="bold", show_edge=False)
    for name, justify in (("fault", "left"), ("planted", "right"), ("found", "right"), ("", "left")):
        table.add_column(name, justify=justify, no_wrap=True)  # type: ignore[arg-type]
    for row in score.rows.values():
        missed = "" if row.right == row.planted else f"MISSED {row.planted - row.right}"
        table.add_row(row.title, f"{row.planted:,}", f"{row.right:,}", missed)
    width = None if sys.stdout.isatty() else 100
    Console(file=sys.stdout, width=width, highlight=False, markup=False, emoji=False).print(table)
    for note in score.notes:
        click.echo(f"Note: {one_line(note)}")
    if score.not_planted:
        click.echo(f"Not planted, these runs have no place for it: {', '.join(score.not_planted)}")
    _print_end(score, where)


def print_proof(proof: Proof) -> None:
    """What the gate's own selftest came to, in a line where all is well."""
    from reprokit.reports.escaping import one_line

    click.echo("")
    if proof.score is not None:
        _print_end(proof.score, ["--runs", *proof.runs])
    elif proof.trusted:
        click.echo(f"No selftest on the runs of {one_line(proof.recipe)}: {one_line(proof.because)}")
    else:
        click.echo(f"The gate cannot be trusted: {one_line(proof.because)}")


def proof_to_json(proof: Proof) -> dict[str, Any]:
    """The same as plain data."""
    told = {"recipe": proof.recipe, "trusted": proof.trusted, "because": proof.because}
    score = to_json(proof.score, proof.recipe, ["--runs", *proof.runs]) if proof.score else None
    return {**told, "score": score}


def _print_end(score: Score, where: list[str]) -> None:
    from reprokit.reports.escaping import one_line

    for miss in score.misses[:_SHOWN]:
        click.echo(f"Missed: {one_line(miss.planted)}: {one_line(miss.because)}")
        click.echo(f"  {replay(score, miss.id, where)}")
    if len(score.misses) > _SHOWN:
        click.echo(f"… and {len(score.misses) - _SHOWN} more")
    faults, clean = f"{score.found:,} of {score.planted:,} faults", score.clean
    copies = f"{clean.right:,} of {clean.planted:,} clean copies"
    word = "can" if score.exit_code == 0 else "cannot"
    click.echo(f"The gate {word} be trusted: {faults} led to their verdict, {copies} to REPRODUCED.")


def replay(score: Score, fault: str, where: list[str]) -> str:
    """The command that plants one fault again."""
    from reprokit.harness.running import shell_line

    return shell_line(["reprokit", "selftest", *where, "--seed", str(score.seed), "--only", fault])


def _print_one(score: Score) -> None:
    from reprokit.reports.escaping import one_line

    if (judged := score.last) is not None:
        click.echo(f"planted   {one_line(judged.planted)}")
        click.echo(f"expected  {judged.expected}")
        click.echo(f"answer    {judged.answer.outcome}, exit code {judged.answer.exit_code}")
        click.echo(f"          {one_line(judged.answer.said)}")
        click.echo("Found." if judged.is_right else f"Missed: {one_line(judged.because)}.")


def to_json(score: Score, recipe: str, where: list[str]) -> dict[str, Any]:
    """The score as plain data."""
    from dataclasses import asdict

    return {
        "exit_code": score.exit_code,
        "recipe": recipe,
        "seed": score.seed,
        "faults": {"planted": score.planted, "found": score.found},
        "clean": {"copies": score.clean.planted, "reproduced": score.clean.right},
        "kinds": [asdict(row) for row in score.rows.values()],
        "misses": [
            {
                "id": miss.id,
                "planted": miss.planted,
                "expected": miss.expected,
                "answer": miss.answer.outcome,
                "exit_code": miss.answer.exit_code,
                "because": miss.because,
                "replay": replay(score, miss.id, where),
            }
            for miss in score.misses
        ],
        "not_planted": score.not_planted,
        "notes": score.notes,
    }
