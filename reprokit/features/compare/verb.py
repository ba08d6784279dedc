"""``reprokit compare``: do two sides give the same numbers?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reprokit.cli.options import (
    RecipeOrCommand,
    examples,
    folder_options,
    ignore_option,
    json_option,
    output_option,
    project_of,
    recipe_or_command,
    request_of,
    run_options,
)
from reprokit.cli.output import print_answer
from reprokit.session import Session

if TYPE_CHECKING:
    from reprokit.features.compare.answer import Answer

_VERSUS = "--vs"


@click.command(
    "compare",
    cls=RecipeOrCommand,
    short_help="Do two sides give the same numbers: commits, settings, packages, commands?",
    epilog=examples(
        "reprokit compare -- python train.py {seed} {run_dir} --vs python train2.py {seed} {run_dir}",
    ),
)
@click.argument("recipe", required=False)
@click.option("--metric", "only", multiple=True, metavar="NAME", help="Compare only this; repeatable.")
@ignore_option()
@output_option()
@json_option()
@run_options
@folder_options
def command(
    recipe: str | None, only: tuple[str, ...], ignore: tuple[str, ...], as_json: bool, **options: Any
) -> int:
    """Run two sides twice each, and say whether they give the same numbers, bit for bit.

    After -- two commands stand, with --vs between them. They run in turn, in place, with nothing pinned.

    Exit codes: 0 equal; 1 different; 3 a side did not run; 4 unjudged: a side does not repeat, or nothing
    can be compared.
    """
    from reprokit.cli import show_report
    from reprokit.features.compare.compare import compare_commands

    _, plain = recipe_or_command(recipe)
    request, project = request_of(options, ignore=ignore), project_of(options)
    commands = _two_commands(plain)
    with show_report.progress() as progress:
        answer, folder = compare_commands(
            commands, request, only=only or None, session=Session(project=project, progress=progress)
        )
    _print(answer, folder, as_json=as_json)
    return answer.exit_code


def _print(answer: Answer, folder: Path | None, *, as_json: bool) -> None:
    from reprokit.features.compare.lines import answer_lines, report_line

    lines = [*answer_lines(answer), *([report_line(folder)] if folder else [])]
    print_answer(lines, data=answer.as_data, as_json=as_json)


def _two_commands(plain: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """The commands on both sides of ``--vs``."""
    if plain.count(_VERSUS) != 1:
        raise click.UsageError(f"two commands are needed, with one {_VERSUS} between them")
    at = plain.index(_VERSUS)
    first, other = plain[:at], plain[at + 1 :]
    if not first or not other:
        raise click.UsageError(f"a command is needed on both sides of {_VERSUS}")
    return {"a": first, "b": other}
