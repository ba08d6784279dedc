"""``reprokit image``: build, list, show and prune the pinned environments."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from reprokit.cli.extensions import ExtensibleGroup
from reprokit.cli.help_pages import Option
from reprokit.cli.options import MOST_DAYS, FiniteRange, base_option, engine_option, examples, json_option
from reprokit.cli.output import print_answer

if TYPE_CHECKING:
    from reprokit.images import locks


@click.group(
    "image",
    cls=ExtensibleGroup,
    short_help="Build, list, verify and lock the pinned environments.",
    epilog=examples("reprokit image build cpu"),
)
def command() -> None:
    """Environments under images/: one lock each, built as a container image or a virtual environment."""


@command.command(
    "build",
    short_help="Build a variant's image, or its virtual environment.",
    epilog=examples(
        "reprokit image build cpu",
        "reprokit image build cpu --from-vendor /media/stick/cpu",
        "reprokit image build cpu --engine-host unix:///run/podman/podman.sock",
    ),
)
@click.argument("variant", default="cpu")
@base_option()
@click.option(
    "--from-vendor",
    "vendored",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Download nothing: take wheels and base packages from this `reprokit image vendor` folder.",
)
@click.option(
    "--builder",
    type=click.Choice(["classic", "buildkit"]),
    default="classic",
    show_default=True,
    help="The engine's builder; both give the same image.",
)
@engine_option
@click.option("--venv", "as_venv", is_flag=True, help="Make a virtual environment from the same lock.")
@json_option()
def build_image(
    variant: str, base: str, vendored: Path | None, builder: str, as_venv: bool, as_json: bool
) -> int:
    """Build a variant's environment, or print its name if it is built already.

    Wheels are downloaded and checked against the lock on this host; the build has no network.
    """
    from reprokit import images
    from reprokit.core import records

    built = images.resolve(
        variant,
        project=lock_around().root,
        kind="venv" if as_venv else "image",
        build=images.BuildOptions(base=base, builder=builder, vendored=vendored),
        on_progress=print_progress,
    )
    print_answer([built.reference], data=lambda: records.to_json(built), as_json=as_json)
    return 0


@command.command(
    "vendor",
    short_help="Collect all that a build needs, for a machine with no network.",
    epilog=examples("reprokit image vendor cpu /media/stick/cpu"),
)
@click.argument("variant")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@json_option()
def vendor_image(variant: str, folder: Path, as_json: bool) -> int:
    """Collect in one folder all that a build needs, for a machine with no network.

    Wheels, the base's packages, locks, and a manifest with the SHA-256 of each file. On that machine run
    `reprokit image build VARIANT --from-vendor FOLDER`.
    """
    import json
    import platform

    from reprokit.images import cache, vendor

    lock = lock_around()
    manifest = vendor.fill(
        lock,
        lock.variant(variant),
        folder,
        machine=platform.machine(),
        cache=cache.cache_folder(None),
        on_progress=print_progress,
    )
    click.echo(json.dumps({"manifest": str(manifest)}) if as_json else str(manifest))
    return 0


@command.command(
    "list",
    short_help="List the environments that are built.",
    epilog=examples("reprokit image list", "reprokit image list --json"),
)
@engine_option
@json_option("Print a JSON list.")
def list_images(as_json: bool) -> int:
    """List the environments that are built; `*` marks those that this project uses now.

    IDs and digests are shortened; `--json` prints them whole.
    """
    from dataclasses import asdict

    from reprokit.images import inventory
    from reprokit.reports.pages import image_page

    rows = inventory.inventory(lock_around().root, cache_dir=None)
    if not rows and not as_json:
        click.echo("none yet; `reprokit image build cpu` makes one", err=True)
        return 0
    print_answer(image_page.image_table(rows), data=lambda: [asdict(row) for row in rows], as_json=as_json)
    return 0


@command.command(
    "prune",
    short_help="Remove environments that no one has used for long.",
    epilog=examples("reprokit image prune", "reprokit image prune --older-than 7 --yes"),
)
@click.option(
    "--older-than",
    "older_than_days",
    cls=Option,
    type=FiniteRange(min=0, max=MOST_DAYS),
    default=30,
    show_default=True,
    metavar="DAYS",
    help="Only what was last used longer ago than this.",
)
@click.option("--yes", is_flag=True, help="Remove them; without it, only list them.")
@engine_option
@json_option()
def prune_images(older_than_days: float, yes: bool, as_json: bool) -> int:
    """List or remove images, bases, environments and wheels not used for a long time.

    What this project uses today always stays. Packages of the distribution stay too: they are needed to
    build a pinned base again once the distribution has moved on.
    """
    import time
    from dataclasses import asdict

    from reprokit.errors import ImageError
    from reprokit.images import cache, housekeeping, locks
    from reprokit.reports.pages import image_page

    try:
        project = locks.project_around(Path.cwd())
    except ImageError:
        project = None
    carry_out = housekeeping.prune if yes else housekeeping.plan
    folder = cache.cache_folder(None)
    found = carry_out(project, older_than_days=older_than_days, cache=folder, now=time.time())
    print_answer(
        image_page.pruned_lines(found, removed=yes),
        data=lambda: {
            "removed": yes,
            "going": [asdict(one) for one in found.going],
            "kept": [{**asdict(one), "because": because} for one, because in found.kept],
        },
        as_json=as_json,
    )
    if found.going and not yes and not as_json:
        click.echo("Nothing was removed.\nHint: add --yes to remove them", err=True)
    return 0


@command.command(
    "show",
    short_help="Show what is in an image and what it was made from.",
    epilog=examples("reprokit image show cpu", "reprokit image show cpu --json > cpu-image.json"),
)
@click.argument("variant", default="cpu")
@engine_option
@click.option("--all", "show_all", is_flag=True, help="List every package and material.")
@json_option("Print both documents as one JSON object.")
def show_image(variant: str, show_all: bool, as_json: bool) -> int:
    """Say what is in the image of VARIANT and what it was made from; build it if it is missing.

    The two documents are in the folder of every run in the image too: `sbom.cdx.json` (CycloneDX 1.6, for
    vulnerability scanners) and `image-provenance.json` (in-toto, SLSA 1.0).
    """
    from reprokit import images
    from reprokit.images import cache
    from reprokit.images.checking import image_documents
    from reprokit.reports.pages import image_page

    image = images.resolve(
        variant, project=lock_around().root, kind="image", on_progress=print_progress
    ).reference
    sbom, provenance = image_documents.read(image, variant=variant, cache=cache.cache_folder(None))
    print_answer(
        image_page.document_lines(image, sbom, provenance, show_all=show_all),
        data=lambda: {"image": image, "sbom": sbom, "provenance": provenance},
        as_json=as_json,
    )
    return 0


def lock_around() -> locks.Lock:
    """The environments of the project around the working directory."""
    from reprokit.images import locks

    return locks.read_lock(locks.project_around(Path.cwd()))


def print_progress(line: str) -> None:
    """Say on stderr what happens."""
    click.echo(line, err=True)
