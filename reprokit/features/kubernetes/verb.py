"""``reprokit runs export``: recipes and sweeps in the words of other systems."""

from __future__ import annotations

import click

from reprokit.cli.help_pages import Group, Option
from reprokit.cli.options import examples


@click.group(
    "export",
    cls=Group,
    short_help="Write a recipe or a sweep as jobs for Kubernetes.",
    epilog=examples("reprokit runs export k8s cartpole_baseline --image registry/project@sha256:…"),
)
def command() -> None:
    """Write a recipe or a sweep in the format of another system."""


@command.command(
    "k8s",
    epilog=examples(
        "reprokit runs export k8s cartpole_baseline --image it@sha256:… > job.json",
        "reprokit runs export k8s runs/sweeps/NAME --image it@sha256:… > jobs.json",
        "kubectl apply -f job.json",
    ),
)
@click.argument("what", metavar="RECIPE|SWEEP")
@click.option(
    "--image",
    required=True,
    metavar="NAME@sha256:…",
    help="The image, by digest; it holds tool, project and environment.",
)
@click.option(
    "--seeds",
    metavar="SEEDS",
    help="Seeds (42,123), a range with both ends (0..9), or how many (5)  [default: the recipe's].",
)
@click.option("--set", "settings", multiple=True, metavar="PATH=VALUE", help="Override a setting.")
@click.option(
    "--volume-claim",
    "claim",
    cls=Option,
    formerly="--claim",
    default="reprokit-runs",
    show_default=True,
    metavar="NAME",
    help="The PersistentVolumeClaim that keeps the runs.",
)
@click.option(
    "--project",
    default="/project",
    show_default=True,
    metavar="PATH",
    help="Folder of the project in the image.",
)
def kubernetes(
    what: str, image: str, seeds: str | None, settings: tuple[str, ...], claim: str, project: str
) -> int:
    """Print RECIPE over seeds as an Indexed Job (JSON, as kubectl takes it): one pod a seed.

    SWEEP is the folder of a sweep, or its sweep.json: a List of such Jobs, one a recipe with its settings.

    A run that could not be made (exit code 3) is tried twice more; wrong usage fails its index at once. The
    image is not built and nothing is sent to a cluster.
    """
    from pathlib import Path

    from reprokit.cli.output import print_json
    from reprokit.errors import UsageError
    from reprokit.features.kubernetes.jobs import export_kubernetes, export_sweep
    from reprokit.project import Project

    places: dict[str, str] = {"image": image, "claim": claim, "folder": project}
    if (Path(what) / "sweep.json").is_file() or what.endswith(".json"):
        if seeds is not None or settings:
            fix = "leave out --seeds and --set"
            raise UsageError("a sweep has its own seeds and settings", where=what, fix=fix)
        print_json(export_sweep(Path(what), project=Project.around(Path.cwd()), **places))
        return 0
    print_json(
        export_kubernetes(
            what,
            project=Project.around(Path.cwd()),
            seeds=seeds,
            settings=settings,
            **places,
        )
    )
    return 0
