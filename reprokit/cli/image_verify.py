"""``reprokit image verify`` and ``rebuild``: is an image built again the same image?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from reprokit.cli.options import base_option, engine_option, examples

if TYPE_CHECKING:
    from reprokit.images.verify import Verified


@click.command(
    "verify",
    short_help="Build again under other circumstances; are the image IDs one?",
    epilog=examples("reprokit image verify cpu", "reprokit image verify cpu --builds 10 --json"),
)
@click.argument("variant", default="cpu")
@click.option(
    "--builds",
    "num_builds",
    type=click.IntRange(min=2),
    default=2,
    show_default=True,
    help="How often to build.",
)
@click.option(
    "--builder",
    "use",
    type=click.Choice(["classic", "buildkit"]),
    multiple=True,
    help="Builders to take in turn  [default: those that can be used here].",
)
@base_option(
    help="What to build on: a registry's image, or distribution packages.",
)
@engine_option
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
def verify_image(variant: str, num_builds: int, use: tuple[str, ...], base: str, as_json: bool) -> int:
    """Build a variant's image again under other circumstances, and compare the image IDs.

    What changes: times, owner, mode and order of the files that go in, folder, time zone, locale,
    cores, builder. On a difference: the layer, the file and the first difference in it.

    Exit codes: 0 all the same; 1 a build differs.
    """
    import json
    from dataclasses import asdict

    from reprokit.images import cache, verify
    from reprokit.images.locks import project_around, read_lock

    lock = read_lock(project_around(Path.cwd()))
    found = verify.verify(
        lock,
        lock.variant(variant),
        base=base,
        num_builds=num_builds,
        use=use,
        cache=cache.cache_folder(None),
        on_progress=_say,
    )
    if as_json:
        click.echo(json.dumps({"identical": found.holds, **asdict(found)}, indent=2))
    else:
        click.echo("\n".join(_lines(found)))
    return 0 if found.holds else 1


@click.command(
    "rebuild",
    short_help="Build the image that a report names again; is its ID the same?",
    epilog=examples("reprokit image rebuild --from reports/cartpole_baseline/T"),
)
@click.option(
    "--from",
    "report",
    required=True,
    type=click.Path(path_type=Path, exists=True),
    help="A report's folder, its report.json, or a run folder.",
)
@engine_option
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
def rebuild_image(report: Path, as_json: bool) -> int:
    """Build the image that a report names once more from nothing, and compare the IDs.

    Exit codes: 0 the same ID; 1 another one.
    """
    import json
    from dataclasses import asdict

    from reprokit.images import cache, rebuild
    from reprokit.images.locks import project_around, read_lock

    lock = read_lock(project_around(Path.cwd()))
    found = rebuild.rebuild(lock, report, cache=cache.cache_folder(None), on_progress=_say)
    if as_json:
        click.echo(json.dumps({"identical": found.identical, **asdict(found)}, indent=2))
        return 0 if found.identical else 1
    if found.identical:
        click.echo(f"identical: {found.named}, as the report names it")
    else:
        click.echo(f"differs: the report names {found.named}")
        click.echo(f"         built here it is {found.rebuilt}")
    click.echo("".join(f"         {line}\n" for line in found.reasons), nl=False)
    return 0 if found.identical else 1


def _lines(found: Verified) -> list[str]:
    lines = [f"{one.id[7:19]}  {one.took_s:6.1f} s  {one.builder:<8}  {one.title}" for one in found.builds]
    if found.difference is not None:
        others = found.difference.num_files - 1
        lines += [f"differs: {found.difference.told()}"]
        lines += [f"         and {others} more file{'s' if others > 1 else ''}"] if others > 0 else []
    elif found.is_one:
        lines += [f"identical: {len(found.builds)} builds of {found.variant}, {found.builds[0].id}"]
    else:
        lines += ["differs: the IDs, and nothing that this tool knows how to compare"]
    if found.in_engine not in {None, found.builds[0].id}:
        lines += [f"differs: the engine has {found.in_engine} of the same content; remove it"]
    return lines


def _say(line: str) -> None:
    click.echo(line, err=True)
