"""``reprokit image verify`` and ``image rebuild``: build again, and compare the image IDs."""

from __future__ import annotations

from pathlib import Path

import click

from reprokit.cli.commands.image import lock_around, print_progress
from reprokit.cli.help_pages import Command, Option
from reprokit.cli.options import base_option, engine_option, examples, json_option, number_option
from reprokit.cli.output import print_answer


@click.command(
    "verify",
    cls=Command,
    short_help="Build again under other conditions; compare the image IDs.",
    epilog=examples("reprokit image verify cpu", "reprokit image verify cpu --builds 10 --json"),
)
@click.argument("variant", default="cpu")
@number_option("--builds", "num_builds", least=2, default=2, help="How many builds.")
@click.option(
    "--builder",
    "use",
    type=click.Choice(["classic", "buildkit"]),
    multiple=True,
    help="Builders to use in turn  [default: those available here].",
)
@base_option()
@engine_option
@json_option()
def verify_image(variant: str, num_builds: int, use: tuple[str, ...], base: str, as_json: bool) -> int:
    """Build a variant's image again under different conditions, and compare the image IDs.

    Varied are times, owner, mode and order of the input files, folder, time zone, locale, cores and
    builder. On a difference, the layer, the file and the first difference in it are printed.

    Exit codes: 0 all equal; 1 a build differs.
    """
    from dataclasses import asdict

    from reprokit.features.rebuild import builds, page
    from reprokit.images import cache

    lock = lock_around()
    found = builds.verify(
        lock,
        lock.variant(variant),
        base=base,
        num_builds=num_builds,
        use=use,
        cache=cache.cache_folder(None),
        on_progress=print_progress,
    )
    print_answer(
        page.verified_lines(found),
        data=lambda: {"identical": found.holds, **asdict(found)},
        as_json=as_json,
    )
    return 0 if found.holds else 1


@click.command(
    "rebuild",
    cls=Command,
    short_help="Rebuild the image that a report names; compare the IDs.",
    epilog=examples("reprokit image rebuild --report reports/cartpole_baseline/T"),
)
@click.option(
    "--report",
    cls=Option,
    formerly="--from",
    required=True,
    type=click.Path(path_type=Path, exists=True),
    help="A report's folder, its report.json, or a run folder.",
)
@engine_option
@json_option()
def rebuild_image(report: Path, as_json: bool) -> int:
    """Rebuild the image that a report names from scratch, and compare the IDs.

    Exit codes: 0 the same ID; 1 another ID.
    """
    from dataclasses import asdict

    from reprokit.features.rebuild import from_report, page
    from reprokit.images import cache

    found = from_report.rebuild(
        lock_around(), report, cache=cache.cache_folder(None), on_progress=print_progress
    )
    print_answer(
        page.rebuilt_lines(found),
        data=lambda: {"identical": found.identical, **asdict(found)},
        as_json=as_json,
    )
    return 0 if found.identical else 1
