"""``reprokit compare``: do two sides give the same numbers?"""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reprokit.cli.help_pages import Command
from reprokit.cli.options import (
    RecipeOrCommand,
    examples,
    folder_options,
    ignore_option,
    json_option,
    number_option,
    output_option,
    project_of,
    recipe_or_command,
    request_of,
    run_options,
    run_options_with,
)
from reprokit.cli.output import print_answer
from reprokit.features.compare.options import side_options, typed_side_options
from reprokit.session import Session

if TYPE_CHECKING:
    from reprokit.features.compare.answer import Answer

_VERSUS = "--vs"


@click.command(
    "compare",
    cls=RecipeOrCommand,
    common="a b b-set b-with json",
    short_help="Say whether two sides give the same numbers, bit for bit.",
    epilog=examples(
        "reprokit compare train                             # HEAD, the working tree",
        "reprokit compare train --a HEAD~1 --b HEAD         # two commits",
        "reprokit compare train --b-set data.num_workers=4  # a setting",
        'reprokit compare train --b-with "jax==0.5.3"       # a package',
        "reprokit compare -- python a.py {run_dir} --vs python b.py {run_dir}",
    ),
)
@click.argument("recipe", required=False)
@side_options
@click.option("--metric", "only", multiple=True, metavar="NAME", help="Compare only this; repeatable.")
@ignore_option()
@output_option()
@click.option(
    "--share",
    multiple=True,
    metavar="PATH",
    help="Give clean work trees this file or folder too, which git ignores; repeatable.",
)
@number_option(
    "--seeds",
    "num_seeds",
    least=2,
    most=1000,
    help="Compare results over so many seeds, not bits: for programs that never repeat.",
)
@click.option(
    "--rounding",
    is_flag=True,
    help="Where they differ: is it what rounding does? Up to 14 more runs.",
)
@click.option(
    "--allow", type=click.Choice(["rounding"]), help="End with 0 where they differ by rounding alone."
)
@click.option(
    "--until",
    type=float,
    metavar="STEP",
    help="With --rounding: judge nothing that is logged at a later step.",
)
@number_option(
    "--from-checkpoint",
    "from_step",
    least=1,
    most=10**15,
    metavar="STEP",
    help="With --rounding: judge late records from side a's checkpoint of this step.",
)
@json_option()
@run_options
@folder_options
def command(
    recipe: str | None,
    only: tuple[str, ...],
    share: tuple[str, ...],
    num_seeds: int | None,
    rounding: bool,
    allow: str | None,
    until: float | None,
    from_step: int | None,
    ignore: tuple[str, ...],
    as_json: bool,
    **options: Any,
) -> int:
    """Run two sides twice each, and say whether they give the same numbers, bit for bit.

    A side of RECIPE is a commit, or the working tree as it is, in an environment from its own lock. Without
    --a and --b, HEAD is compared with the working tree; where something is set on a side, both are the
    working tree. After --, two commands are given, with --vs between them: they run in turn, in place, with
    nothing pinned.

    With --rounding, runs of side a that differ by rounding alone show how far that moves each number.

    Exit codes: 0 equal; 1 different, or rounding unless it is allowed; 2 wrong usage, or both sides are the
    same; 3 a side did not run; 4 unjudged: a side does not repeat, or nothing can be compared.
    """
    from reprokit.cli import show_report
    from reprokit.features.compare.asked import sides_asked
    from reprokit.features.compare.trees import trees_begun

    name, plain = recipe_or_command(recipe)
    of_recipes = typed_side_options(options) + ["--share"] * bool(share) + ["--seeds"] * bool(num_seeds)
    of_commands = ["--ignore-metric"] * bool(ignore) + ["--output"] * bool(options["outputs"])
    if num_seeds and only:
        raise click.UsageError("--metric is for bits; with --seeds the recipe says what is compared")
    if num_seeds and rounding:
        raise click.UsageError("--rounding is for bits; --seeds compares results")
    if allow and not rounding:
        raise click.UsageError("--allow rounding needs --rounding")
    if until is not None and not rounding:
        raise click.UsageError("--until needs --rounding")
    if from_step is not None and (not rounding or until is not None or name is None):
        raise click.UsageError("--from-checkpoint needs a recipe and --rounding, and goes without --until")
    wrong = of_commands if name else of_recipes
    if wrong:
        raise click.UsageError(f"{wrong[0]} is for {'plain commands' if name else 'recipes'}")
    request, project = request_of(options, ignore=ignore), project_of(options)
    with ExitStack() as stack:
        sides, coming = sides_asked(options), None
        if name is not None:  # first of all: git makes the trees while the rest is imported
            only_bits = not (num_seeds or rounding)
            begun: dict[str, Any] = {"share": share, "backend": request.backend, "project": project}
            trees = trees_begun(name, sides, only_bits=only_bits, **begun)
            coming = stack.enter_context(trees)
        from reprokit.features.compare.compare import compare_commands, compare_recipe
        from reprokit.features.compare.rounding.made_twins import RoundingAsked

        asked = (
            RoundingAsked(allowed=allow is not None, until=until, from_step=from_step) if rounding else None
        )
        session = Session(project=project, progress=stack.enter_context(show_report.progress()))
        counted: dict[str, Any] = {"only": only or None, "rounding": asked, "session": session}
        folder: Path | None
        if name is None:
            answer, folder = compare_commands(_two_commands(plain), request, **counted)
        else:
            how: dict[str, Any] = {"share": share, "num_seeds": num_seeds, "coming": coming, **counted}
            answer, folder = compare_recipe(name, sides, request, **how)
    _print(answer, folder, as_json=as_json)
    return answer.exit_code


@click.command(
    "tolerance",
    cls=Command,
    common="twins seed json",
    short_help="Propose tolerances that rounding needs; write nothing.",
    epilog=examples("reprokit golden tolerance cartpole_baseline", "reprokit golden tolerance pg --twins 20"),
)
@click.argument("recipe")
@number_option("--twins", "num_twins", least=4, most=200, default=8, help="How many runs show rounding.")
@json_option()
@run_options_with(default_seed="the recipe's first")
@folder_options
def tolerance(recipe: str, num_twins: int, as_json: bool, **options: Any) -> int:
    """Say which tolerance rounding needs: of each metric, for single values and for means of several.

    The recipe runs once more, which must give its golden, then several times with other rounding, and once
    with a learning rate 0.1 % higher, which a proposed tolerance must not hide. Nothing is written: put what
    you mean under `tolerances` in recipe.yaml, and promote again.

    Exit codes: 0 proposed; 3 it does not run; 4 it has no golden, or does not give it, or nothing can be
    rounded.
    """
    from reprokit.cli import show_report
    from reprokit.features.compare.rounding.tolerance import propose
    from reprokit.features.compare.tolerance_page import page_lines

    with show_report.progress() as progress:
        session = Session(project=project_of(options), progress=progress)
        found = propose(recipe, request_of(options), num_twins=num_twins, session=session)
    print_answer(page_lines(found), data=found.as_data, as_json=as_json)
    return 0


def _print(answer: Answer, folder: Path | None, *, as_json: bool) -> None:
    from reprokit.features.compare.lines import answer_lines, report_lines
    from reprokit.reports.terminal.terminal_style import style_of

    style = style_of(sys.stdout, environ=os.environ)
    lines = [*answer_lines(answer, style=style), *(report_lines(folder, style=style) if folder else [])]
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
