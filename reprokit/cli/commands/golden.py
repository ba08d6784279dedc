"""``reprokit golden``: reference runs, with their provenance."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reprokit.cli.extensions import ExtensibleGroup
from reprokit.cli.help_pages import Option, titled
from reprokit.cli.options import (
    PLOT_POINTS,
    examples,
    folder_options,
    json_option,
    number_option,
    picture_file,
    plot_option,
    project_of,
    write_picture,
)
from reprokit.cli.output import print_answer, print_json
from reprokit.layout import ENSEMBLE, RECORD
from reprokit.project import Project, settings_of

if TYPE_CHECKING:
    from reprokit.golden import Promotion
    from reprokit.harness.curation import WhichSweep


@click.group(
    "golden",
    cls=ExtensibleGroup,
    short_help="List, show, diff, lint, promote, record, import goldens.",
    epilog=examples("reprokit golden list"),
)
def command() -> None:
    """A golden is the reference run of a recipe on a platform, with its provenance, under golden/."""


@command.command("list", epilog=examples("reprokit golden list --json"))
@json_option("Print a JSON list.")
@folder_options
def list_goldens(as_json: bool, **options: Any) -> int:
    """List the goldens, and what is wrong with those that cannot be used."""
    from dataclasses import asdict

    from reprokit import golden
    from reprokit.reports.pages import golden_list

    folder = project_of(options, may_lack_goldens=True).golden_dir
    rows = [*golden.list_all(folder), *golden.list_ensembles(folder)]
    if as_json:
        print_json([asdict(row) for row in rows], default=str)
    elif not rows:
        click.echo(
            "no goldens yet; `reprokit golden promote RECIPE --reason 'first golden'` makes one", err=True
        )
    else:
        click.echo("\n".join(map(golden_list.golden_line, rows)))
    return 2 if any(row.problem for row in rows) else 0


@command.command("show", epilog=examples("reprokit golden show golden/cartpole_baseline/cpu-x86_64/seed-42"))
@click.argument("path", type=click.Path(path_type=Path))
@json_option("Print provenance.json.")
def show_golden(path: Path, as_json: bool) -> int:
    """Show where a golden comes from: when, why, from which inputs, in which environment.

    PATH is its folder, one above it that holds no other, or the name of a recipe.
    """
    from reprokit import golden
    from reprokit.project import Project
    from reprokit.reports.pages import golden_list

    of_recipe = Project.around(Path.cwd()).golden_dir / path
    place = golden.find(of_recipe if of_recipe.is_dir() and not path.exists() else path, ensembles=True)
    if place.name == ENSEMBLE:
        ensemble = golden.load_ensemble(place)
        lines, found = golden_list.ensemble_lines(ensemble), ensemble.document
    else:
        blessed = golden.load(place)
        lines, found = golden_list.provenance_lines(blessed), blessed.document
    print_answer(lines, data=lambda: dict(found), as_json=as_json)
    return 0


@command.command(
    "promote",
    common="reason report seed platform json",
    epilog=examples(
        "reprokit golden promote cartpole_baseline --reason 'learning rate halved'",
        "reprokit golden promote RUN RUN --reason 'first golden'",
        "reprokit golden promote --report reports/pg/TIME --reason 'discount less'",
        "reprokit golden promote --stale --reason 'numpy 2.5'",
        "reprokit golden promote cartpole_baseline --sweep --reason 'first ensemble'",
        "reprokit golden promote walk --sweep-name walk-9c518afb --reason 'again'",
    ),
)
@click.argument("what", nargs=-1, metavar="RECIPE | RUN RUN…")
@click.option("--reason", required=True, help="Why these numbers are expected from now on.")
@click.option(
    "--report",
    cls=Option,
    formerly="--from",
    type=click.Path(path_type=Path),
    metavar="REPORT",
    help="Take the runs that this report judged: its folder, or its report.json.",
)
@click.option("--seed", type=int, metavar="N", help="With RECIPE: the newest runs with this seed.")
@click.option("--platform", metavar="NAME", help="With RECIPE: the newest runs, or sweep, of this platform.")
@titled(
    "After a change of the environment",
    click.option(
        "--stale",
        is_flag=True,
        help="Promote every golden (of the RECIPEs named) whose environment changed: all, or none.",
    ),
    click.option("--dry-run", is_flag=True, help="With --stale: show what would change; write nothing."),
)
@titled(
    "An ensemble of a sweep",
    click.option("--sweep", is_flag=True, help="Promote the newest sweep of RECIPE to its ensemble."),
    click.option(
        "--sweep-name",
        default="",
        metavar="NAME",
        help="Promote this sweep, by the name that `sweep` prints.",
    ),
    number_option(
        "--min-seeds", least=10, default=20, help="With --sweep: how many seeds an ensemble must have."
    ),
    click.option(
        "--machines",
        default="",
        metavar="KIND",
        help="With --sweep, where it was split: machines of this kind.",
    ),
)
@titled(
    "What is allowed",
    click.option("--allow-dirty", is_flag=True, help="Allow runs of a work tree with uncommitted changes."),
    click.option("--allow-nonfinite", is_flag=True, help="Allow metrics with NaN or infinities."),
    click.option(
        "--allow-failed", is_flag=True, help="Allow runs that failed required checks, and record which."
    ),
    click.option(
        "--allow-left-out",
        is_flag=True,
        help="With --sweep: leave out finished seeds, and record which.",
    ),
)
@json_option("Print provenance.json.")
@folder_options
def promote(
    what: tuple[str, ...],
    stale: bool,
    dry_run: bool,
    report: Path | None,
    sweep: bool,
    reason: str,
    seed: int | None,
    platform: str | None,
    allow_dirty: bool,
    as_json: bool,
    **options: Any,
) -> int:
    """Promote runs to a golden: the newest finished pair of RECIPE, the given runs, or those of a report.

    The runs must be complete, unmodified and equal byte for byte, and pass the required checks that are not
    about the golden. Nothing is trained, except where the recipe says `instrument`: one more run, without the
    instrumentation, must have the same metrics.

    --stale is for a changed image or library, after `reprokit verify --no-watch-golden`: of each recipe the
    newest pair is promoted, if only its environment differs from the golden's. Nothing is written where the
    runs of one recipe disagree or did not finish, or its code changed too.

    --sweep makes the ensemble that `reprokit verify --statistical` compares new seeds with. Every member must
    be finished and unchanged, no two may be the same run, seeds must make a difference, the halves of the set
    must not differ, and no finished seed may be left out.
    """
    from datetime import UTC, datetime

    from reprokit import golden
    from reprokit.cli import show_report
    from reprokit.harness import curation
    from reprokit.reports.pages import golden_list

    project = project_of(options, may_lack_goldens=True)
    allowed = {name: options[name] for name in ("allow_nonfinite", "allow_failed")}
    promotion = golden.Promotion(
        reason=reason,
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
        allow_dirty=allow_dirty,
        allow_left_out=options["allow_left_out"],
        **allowed,
    )
    if stale:
        of_a_sweep = sweep or options["sweep_name"]
        if (
            of_a_sweep
            or report is not None
            or seed is not None
            or platform is not None
            or any(allowed.values())
        ):
            raise click.UsageError("--stale takes the newest runs of every recipe as they are")
        return _promote_stale(what, project, promotion=promotion, write=not dry_run, as_json=as_json)
    if sweep or options["sweep_name"]:
        if len(what) != 1 or report is not None or seed is not None or any(allowed.values()):
            raise click.UsageError("--sweep takes one recipe, and every finished seed of one sweep")
        return _promote_sweep(
            what[0],
            project,
            promotion=promotion,
            min_seeds=options["min_seeds"],
            which=curation.WhichSweep(
                name=options["sweep_name"], kind=options["machines"], platform=platform or ""
            ),
            as_json=as_json,
        )
    alone = {
        "--dry-run belongs to --stale": dry_run,
        "--machines belongs to --sweep": options["machines"],
        "--allow-left-out belongs to --sweep": options["allow_left_out"],
    }
    if wrong := next((text for text, given in alone.items() if given), ""):
        raise click.UsageError(wrong)
    folders = _chosen_runs(what, report, project, seed=seed, platform=platform)
    _must_be_of_todays_files(what, folders, project)
    with show_report.progress() as progress:
        promoted = curation.promote(
            folders,
            project=project,
            promotion=promotion,
            progress=progress,
        )
    line = f"{promoted.path}: {promoted.provenance.runs_agreed} runs agreed"
    print_answer([line], data=lambda: dict(promoted.document), as_json=as_json)
    limit_mb = settings_of(project.root).golden_limit_mb
    for line in golden_list.size_lines(promoted, limit_mb=limit_mb):
        click.echo(line, err=True)
    is_first = promoted.document.get("previous") is None
    change = "." if is_first else " together with the change that --reason names."
    click.echo(f"Commit it{change}", err=True)
    return 0


def _chosen_runs(
    what: tuple[str, ...], report: Path | None, project: Project, *, seed: int | None, platform: str | None
) -> tuple[Path, ...]:
    """The runs that are to be promoted: of a report, the newest of a recipe, or those named."""
    from reprokit import runs
    from reprokit.harness import curation

    if bool(what) == (report is not None):
        raise click.UsageError("name a recipe, run folders, or a report with --report")
    of_recipe = _is_recipe(what)
    if platform is not None and not of_recipe:
        raise click.UsageError("--platform goes with RECIPE; runs and reports say theirs")
    if report is not None:
        return curation.runs_of_report(report)
    if of_recipe:
        return curation.newest_pair(project.runs_dir, what[0], seed=seed, platform=platform)
    return tuple(runs.find(project.runs_dir, one) for one in what)


def _is_recipe(what: tuple[str, ...]) -> bool:
    return len(what) == 1 and not Path(what[0], RECORD).is_file()


def _must_be_of_todays_files(what: tuple[str, ...], folders: tuple[Path, ...], project: Project) -> None:
    """Refuse a recipe's newest runs where they are of other files than those here; of others, say so.

    Raises:
        GoldenError: The person named the recipe, and its files were changed since.
    """
    from reprokit.core.verdicts.rows import listed
    from reprokit.errors import GoldenError
    from reprokit.harness import curation
    from reprokit.reports import one_line

    changed = curation.changed_since_runs(folders, project)
    if not changed:
        return
    said = f"were made from other files than those here: {one_line(listed(changed, most=5))}"
    if not _is_recipe(what):
        click.echo(f"note: these runs {said}; the golden is of the files of these runs", err=True)
        return
    named = " ".join(one_line(folder) for folder in folders)
    raise GoldenError(
        f"the newest runs of {what[0]} {said}",
        where=str(folders[0]),
        fix=f"`reprokit reproduce {what[0]}`, then promote again. For a golden of these runs all the same, "
        f"name them: `reprokit golden promote {named} --reason …`",
    )


def _promote_sweep(
    name: str,
    project: Project,
    *,
    promotion: Promotion,
    min_seeds: int,
    which: WhichSweep,
    as_json: bool,
) -> int:
    """Promote a sweep to an ensemble, and print what it holds."""
    from reprokit.harness import curation
    from reprokit.reports.pages import golden_list

    promoted = curation.promote_sweep(
        name,
        project=project,
        promotion=promotion,
        min_seeds=min_seeds,
        which=which,
        note=lambda text: click.echo(f"note: {text}", err=True),
    )
    print_answer(golden_list.ensemble_lines(promoted), data=lambda: dict(promoted.document), as_json=as_json)
    click.echo("Commit it together with the recipe that declares these margins.", err=True)
    return 0


def _promote_stale(
    names: tuple[str, ...], project: Project, *, promotion: Promotion, write: bool, as_json: bool
) -> int:
    """Promote what is stale, and print one table of what moved in all of it."""
    from reprokit.cli import show_report
    from reprokit.harness import curation
    from reprokit.reports.pages import golden_diff

    with show_report.progress() as progress:
        found = curation.promote_stale(
            project,
            promotion=promotion,
            names=names,
            write=write,
            progress=progress,
        )
    print_answer(golden_diff.stale_lines(found), data=lambda: golden_diff.stale_data(found), as_json=as_json)
    said = "No golden is stale."
    if found.moved:
        said = f"{len(found.moved)} promoted. Commit them together." if write else "Nothing was written."
    click.echo(said, err=True)
    return 0


@command.command(
    "import",
    common="recipe reason rtol atol json",
    epilog=examples(
        "reprokit golden import log.csv --recipe ppo --rtol 0.05 --reason 'table 2'",
        "reprokit golden import log.csv --recipe ppo --rename R=return --atol 5 …",
    ),
)
@click.argument("log", type=click.Path(path_type=Path))
@click.option("--recipe", required=True, help="The recipe whose runs are compared with the log.")
@click.option("--reason", required=True, help="Who published the log, and where.")
@click.option("--rtol", type=float, help="Relative tolerance of every number; 0 with --atol alone.")
@click.option("--atol", type=float, help="Absolute tolerance of every number; 0 with --rtol alone.")
@titled(
    "What is compared",
    click.option(
        "--seed", type=int, metavar="N", help="Seed of those runs  [default: the recipe's only one]."
    ),
    click.option("--platform", help="Platform of those runs  [default: this machine's]."),
    click.option("--metric", "metrics", multiple=True, metavar="NAME", help="Only this metric of the log."),
    click.option(
        "--rename",
        "renames",
        multiple=True,
        metavar="THEIRS=OURS",
        help="What the recipe's runs call a metric.",
    ),
)
@json_option("Print provenance.json.")
@folder_options
def import_log(
    log: Path,
    recipe: str,
    seed: int | None,
    platform: str | None,
    rtol: float | None,
    atol: float | None,
    metrics: tuple[str, ...],
    renames: tuple[str, ...],
    reason: str,
    as_json: bool,
    **options: Any,
) -> int:
    """Make a foreign golden of a LOG that someone published: any file whose metrics reprokit reads.

    A run is compared with every number of it, at the same step, within the tolerance. Within it the runs are
    REPEATABLE and "within the declared tolerance of a foreign log", never REPRODUCED; beyond it UNJUDGED,
    never REGRESSION, because nothing is known of how the log was made.
    """
    from datetime import UTC, datetime

    from reprokit import golden
    from reprokit.core import comparison
    from reprokit.harness import curation

    if rtol is None and atol is None:
        raise click.UsageError("declare how far a run may be from the log: --rtol, --atol or both")
    pairs = [rename.partition("=")[::2] for rename in renames]
    if not all(theirs and ours for theirs, ours in pairs):
        raise click.UsageError("--rename wants THEIRS=OURS")
    imported = curation.import_log(
        curation.PublishedLog(path=log, metrics=metrics, renamed=dict(pairs)),
        recipe=recipe,
        project=project_of(options, may_lack_goldens=True),
        seed=seed,
        platform=platform,
        tolerance=comparison.Tolerance(rtol=rtol or 0.0, atol=atol or 0.0),
        promotion=golden.Promotion(reason=reason, created_at=datetime.now(UTC).isoformat(timespec="seconds")),
    )
    held = imported.document["foreign"]["metrics"]
    line = f"{imported.path}: a foreign log, {len(held)} of whose metrics runs are compared with"
    print_answer([line], data=lambda: dict(imported.document), as_json=as_json)
    return 0


@command.command(
    "lint",
    epilog=examples("reprokit golden lint", "reprokit golden lint cartpole_baseline --min-runs 5"),
)
@click.argument("recipes", nargs=-1, metavar="[RECIPE…]")
@number_option("--min-runs", least=2, most=100, default=2, help="How many runs must have agreed.")
@json_option("Print a JSON list.")
@folder_options
def lint(recipes: tuple[str, ...], min_runs: int, as_json: bool, **options: Any) -> int:
    """Say what is wrong with the goldens: each problem with its file and a hint. Nothing is run.

    Exit codes: 0 no problem; 1 problems; 4 there is no golden.
    """
    import dataclasses

    from reprokit import golden
    from reprokit.harness import curation
    from reprokit.reports.pages import golden_list

    project = project_of(options, may_lack_goldens=True)
    findings = curation.lint_goldens(project, min_runs=min_runs, names=recipes)
    if as_json:
        print_json([dataclasses.asdict(finding) for finding in findings])
    for one in () if as_json else findings:
        click.echo(golden_list.finding_line(one, root=Path.cwd()))
    folder = project.golden_dir
    every = (*golden.list_all(folder), *golden.list_ensembles(folder))
    rows = [row for row in every if not recipes or row.recipe in recipes]
    click.echo(golden_list.count_line(goldens=len(rows), findings=len(findings)), err=True)
    return 4 if not rows else 1 if findings else 0


@command.command(
    "diff",
    epilog=examples(
        "reprokit golden diff HEAD:golden/pg/tpu-v4/seed-7 golden/pg/tpu-v4/seed-7",
        "reprokit golden diff OLD NEW --markdown --plot moved.svg",
    ),
)
@click.argument("old")
@click.argument("new")
@click.option("--markdown", is_flag=True, help="Print Markdown, for a pull request.")
@json_option()
@plot_option("both")
def diff(old: str, new: str, markdown: bool, as_json: bool, plot: Path | None) -> int:
    """Say what a new golden changes: which metrics, by how much, from which step on, and why.

    OLD and NEW are folders, or REVISION:FOLDER as in git, with the folder relative to here.

    Exit codes: 0 no number changed; 1 some did; 2 not two goldens of one recipe, platform and seed.
    """
    from reprokit import adapters
    from reprokit.core import comparison
    from reprokit.harness.curation import compare_goldens, opened
    from reprokit.reports.charts import diff_to_svg
    from reprokit.reports.pages import golden_diff

    picture_file(plot)
    with opened(old, at=Path.cwd()) as before, opened(new, at=Path.cwd()) as after:
        found = compare_goldens(before, after)
        if plot is not None:
            sides = adapters.source_of(before.metrics), adapters.source_of(after.metrics)
            series = adapters.series_of_pairs([sides], max_points=PLOT_POINTS)
            picture = diff_to_svg.diff_to_svg(
                series, found.comparison.divergence, title=golden_diff.headline(found)
            )
            write_picture(plot, picture)
    if as_json:
        print_json(golden_diff.to_data(found))
    else:
        draw = golden_diff.to_markdown if markdown else golden_diff.to_terminal
        click.echo(draw(found), nl=False)
    return comparison.exit_code(found.comparison)
