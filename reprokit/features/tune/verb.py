"""``reprokit tune``: a search over settings whose trials follow from seed and number alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reprokit.cli.help_pages import Command, Title, titled
from reprokit.cli.html_page import write_page
from reprokit.cli.options import (
    backend_option,
    base_option,
    engine_option,
    examples,
    json_option,
    number_option,
    project_of,
    request_of,
    runs_dir_option,
    timeout_option,
)
from reprokit.cli.output import print_answer

if TYPE_CHECKING:
    from reprokit.features.tune.asked import Asked
    from reprokit.features.tune.study import Study
    from reprokit.project import Project
    from reprokit.recipes import Distribution

_search_options = titled(
    "How settings are drawn",
    click.option(
        "--space",
        "space_file",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="YAML: setting → {type: float|int|categorical, low, high, log, step, choices}.",
    ),
    click.option(
        "--preset",
        type=click.Choice(("rl",)),
        metavar="PRESET",
        help="In place of --space: rl, the recipe's settings one at a time, learning rate first.",
    ),
    number_option("--trials", least=1, help="How many trials  [default: every point of a grid]."),
    number_option("--seed", least=0, default=0, help="Seed of everything that is drawn."),
    click.option(
        "--sampler",
        type=click.Choice(("tpe", "cmaes", "random", "grid", "one-at-a-time")),
        metavar="SAMPLER",
        help="tpe, cmaes, random, grid or one-at-a-time  [default: tpe; with a preset one-at-a-time].",
    ),
    click.option(
        "--pruner",
        type=click.Choice(("none", "median", "hyperband")),
        default="none",
        show_default=True,
        metavar="PRUNER",
        help="Stop trials early: none, median or hyperband.",
    ),
    click.option("--pruner-metric", metavar="NAME", help="What the pruner looks at  [default: --metric]."),
    number_option(
        "--ignore-last",
        "lag",
        formerly="--lag",
        least=0,
        default=4,
        help="Draw a trial without the results of this many trials before it.",
    ),
)
_objective_options = titled(
    "What is searched for",
    click.option(
        "--metric", metavar="NAME", help="What is searched for  [default: the recipe's first result]."
    ),
    click.option(
        "--window",
        default="last",
        show_default=True,
        metavar="NAME",
        help="Which part of a curve counts, as in `stats`.",
    ),
    click.option(
        "--direction",
        type=click.Choice(("maximize", "minimize")),
        metavar="DIRECTION",
        help="maximize or minimize  [default: by metric and window].",
    ),
    click.option(
        "--seeds",
        metavar="SEEDS",
        help="Train each trial with these seeds; its value is the mean  [default: the recipe's].",
    ),
    click.option("--set", "settings", multiple=True, metavar="PATH=VALUE", help="Set this in every trial."),
)


@click.command(
    "tune",
    cls=Command,
    common="space trials metric workers json",
    short_help="Search settings; the same trials however they are run.",
    epilog=examples(
        "reprokit tune cartpole_dqn --space space.yaml --trials 20",
        "reprokit tune cartpole_dqn --space space.yaml --trials 40 --workers 4",
        "reprokit tune cartpole_dqn --preset rl --show-space",
    ),
)
@click.argument("recipe", metavar="RECIPE")
@_search_options
@_objective_options
@number_option("--workers", least=1, help="Trials side by side; changes no result  [default: a core each].")
@titled(
    "Before and after",
    click.option("--show-space", is_flag=True, help="Check the search space, print it, and stop."),
    click.option("--dry-run", is_flag=True, help="List what is finished and what would be run next."),
    click.option("--retry-failed", is_flag=True, help="Run trials that failed again."),
    click.option(
        "--report-seeds",
        metavar="SEEDS",
        help="Run the best trial with these seeds too, which did not choose it.",
    ),
)
@titled(
    Title.WRITTEN,
    click.option("--save-best", metavar="NAME", help="Write the best trial as the recipe NAME."),
    click.option(
        "--html",
        "html_file",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="Draw history, importance and all trials.",
    ),
    click.option(
        "--export", "storage", metavar="sqlite:///FILE", help="Add the study to a storage of Optuna's."
    ),
)
@json_option("Print the study as a JSON object.")
@backend_option(metavar="BACKEND", help="docker, local (virtual environment from the same lock) or auto.")
@base_option(metavar="BASE", help="What the image is built on: registry, bootstrap or auto.")
@timeout_option()
@engine_option
@runs_dir_option
def command(recipe: str, as_json: bool, **options: Any) -> int:
    """Search the settings in FILE for the best of RECIPE, each trial in run folders of its own.

    The settings of a trial follow from --seed, its number and the results of the trials before it, without
    the last ones (--ignore-last). So a study is the same with any number of workers and after any kill: the
    same command continues where it was stopped, and more --trials add to it. A trial whose program fails is a
    row that says so.

    Exit codes: 0 every trial has ended and one has a value; 3 otherwise; 2 wrong usage; 130 and 143
    interrupted.
    """
    from reprokit.features.tune.other_forms import must_be_storage
    from reprokit.features.tune.pages import tuning_table
    from reprokit.features.tune.settings import own_values
    from reprokit.features.tune.tune import tune
    from reprokit.reports import sweep_display

    project = project_of(options)
    space = _space(recipe, options, project=project)
    if options["storage"]:
        must_be_storage(options["storage"])
    if options["show_space"]:
        own = own_values(recipe, space, settings=options["settings"], project=project)
        data = {one.setting: {**one.as_data(), "recipe": own[one.setting]} for one in space}
        print_answer(tuning_table.space_lines(space, own), data=lambda: {"space": data}, as_json=as_json)
        return 0
    with sweep_display.SweepDisplay() as progress:
        study = tune(
            recipe,
            request_of({name: value for name, value in options.items() if name != "seed"}),
            _asked(options, space),
            project=project,
            progress=progress,
            workers=options["workers"],
            dry_run=options["dry_run"],
        )
    _further_forms(study, html_file=options["html_file"], storage=options["storage"])
    code = 0 if options["dry_run"] else study.exit_code
    lines = tuning_table.study_lines(study, dry_run=options["dry_run"])
    print_answer(lines, data=lambda: {**study.answer(), "exit_code": code}, as_json=as_json)
    return code


def _space(recipe: str, options: dict[str, Any], *, project: Project) -> tuple[Distribution, ...]:
    """The search space of the file, or of the preset."""
    from reprokit import recipes
    from reprokit.features.tune.preset import load_preset

    if (options["space_file"] is None) == (options["preset"] is None):
        raise click.UsageError("name a search space with --space, or a --preset")
    if options["preset"] is not None:
        return load_preset(recipe, settings=options["settings"], project=project)
    return recipes.read_search_space(options["space_file"])


def _further_forms(study: Study, *, html_file: Path | None, storage: str | None) -> None:
    from reprokit.features.tune.other_forms import export, importances
    from reprokit.features.tune.pages import study_page, tuning_table

    if html_file is not None:
        fresh = tuning_table.fresh_text(study)
        page = study_page.study_to_html(study.as_data(), importance=importances(study), fresh=fresh)
        write_page(page, path=html_file)
    if storage is not None:
        added = export(study, url=storage)
        click.echo(f"Added to {storage}: {added} trials. See: optuna-dashboard {storage}", err=True)


def _asked(options: dict[str, Any], space: tuple[Distribution, ...]) -> Asked:
    from reprokit.features.tune.asked import AfterSearch, Asked

    names = (
        *("trials", "seed", "settings", "seeds", "metric", "window", "direction"),
        *("pruner", "pruner_metric", "lag", "retry_failed"),
    )
    sampler = options["sampler"] or ("tpe" if options["preset"] is None else "one-at-a-time")
    return Asked(
        **{name: options[name] for name in names},
        space=space,
        sampler=sampler,
        after=AfterSearch(seeds=options["report_seeds"], save_as=options["save_best"]),
    )
