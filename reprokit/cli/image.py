"""``reprokit image``: build, list, verify and lock the pinned environments."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reprokit.cli.options import base_option, engine_option, examples, json_option, number_option
from reprokit.cli.output import print_answer, print_json

if TYPE_CHECKING:
    from reprokit.images import locks


@click.group(
    "image",
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
        project=_lock().root,
        kind="venv" if as_venv else "image",
        build=images.BuildOptions(base=base, builder=builder, vendored=vendored),
        on_progress=_print_progress,
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

    lock = _lock()
    manifest = vendor.fill(
        lock,
        lock.variant(variant),
        folder,
        machine=platform.machine(),
        cache=cache.cache_folder(None),
        on_progress=_print_progress,
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
    from reprokit.reports import image_page

    rows = inventory.inventory(_lock().root, cache_dir=None)
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
    type=click.FloatRange(min=0),
    default=30,
    show_default=True,
    metavar="DAYS",
    help="Only what was last used so long ago.",
)
@click.option("--yes", is_flag=True, help="Remove them; without it, only list them.")
@engine_option
@json_option()
def prune_images(older_than_days: float, yes: bool, as_json: bool) -> int:
    """List, or remove, images, bases, virtual environments and wheels that no one has used for long.

    What this project uses today always stays. Packages of the distribution stay too: they are needed to
    build a pinned base again once the distribution has moved on.
    """
    import time
    from dataclasses import asdict

    from reprokit.errors import ImageError
    from reprokit.images import cache, housekeeping, locks
    from reprokit.reports import image_page

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
    "verify",
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
    """Build a variant's image again under other conditions, and compare the image IDs.

    Varied are times, owner, mode and order of the input files, folder, time zone, locale, cores and
    builder. On a difference, the layer, the file and the first difference in it are printed.

    Exit codes: 0 all equal; 1 a build differs.
    """
    from dataclasses import asdict

    from reprokit.images import cache
    from reprokit.images.checking import verify
    from reprokit.reports import image_page

    lock = _lock()
    found = verify.verify(
        lock,
        lock.variant(variant),
        base=base,
        num_builds=num_builds,
        use=use,
        cache=cache.cache_folder(None),
        on_progress=_print_progress,
    )
    print_answer(
        image_page.verified_lines(found),
        data=lambda: {"identical": found.holds, **asdict(found)},
        as_json=as_json,
    )
    return 0 if found.holds else 1


@command.command(
    "rebuild",
    short_help="Rebuild the image that a report names; compare the IDs.",
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
@json_option()
def rebuild_image(report: Path, as_json: bool) -> int:
    """Rebuild the image that a report names from scratch, and compare the IDs.

    Exit codes: 0 the same ID; 1 another ID.
    """
    from dataclasses import asdict

    from reprokit.images import cache
    from reprokit.images.checking import rebuild
    from reprokit.reports import image_page

    found = rebuild.rebuild(_lock(), report, cache=cache.cache_folder(None), on_progress=_print_progress)
    print_answer(
        image_page.rebuilt_lines(found),
        data=lambda: {"identical": found.identical, **asdict(found)},
        as_json=as_json,
    )
    return 0 if found.identical else 1


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
    from reprokit.reports import image_page

    image = images.resolve(variant, project=_lock().root, kind="image", on_progress=_print_progress).reference
    sbom, provenance = image_documents.read(image, variant=variant, cache=cache.cache_folder(None))
    print_answer(
        image_page.document_lines(image, sbom, provenance, show_all=show_all),
        data=lambda: {"image": image, "sbom": sbom, "provenance": provenance},
        as_json=as_json,
    )
    return 0


@command.command(
    "lock",
    short_help="Lock an environment: of your project's files, or again from its input.",
    epilog=examples(
        "reprokit image lock mine --from requirements.txt",
        "reprokit image lock mine --from pyproject.toml --extra train --group dev",
        "reprokit image lock cpu",
        "reprokit image lock --check   # every variant",
        "reprokit image lock base",
    ),
)
@click.argument("variants", nargs=-1, metavar="[NAME|base]…")
@click.option(
    "--from",
    "sources",
    type=click.Path(path_type=Path),
    multiple=True,
    metavar="FILE",
    help="What NAME is made from: requirements*.txt, uv.lock, pylock.toml, pyproject.toml, poetry.lock or "
    "environment.yml. Several are taken together.",
)
@click.option("--extra", "extras", multiple=True, metavar="EXTRA", help="An extra of the project, too.")
@click.option("--group", "groups", multiple=True, metavar="GROUP", help="A dependency group, too.")
@click.option("--python", metavar="3.N", help="Its Python  [default: the lowest from 3.11 that FILE allows].")
@click.option(
    "--device",
    type=click.Choice(["cpu", "cuda", "tpu"]),
    help="What it is for  [default: cpu]; decides which build of torch.",
)
@click.option(
    "--system",
    "system_packages",
    multiple=True,
    metavar="PACKAGE[=VERSION]",
    help="A package of the distribution that its image needs; pinned as of today.",
)
@click.option(
    "--build",
    multiple=True,
    metavar="PACKAGE==VERSION",
    help="Build a wheel of a package that is distributed as source only, and keep it next to the lock.",
)
@click.option("--base-image", metavar="IMAGE:TAG@DIGEST", help="Build on this image of a registry.")
@click.option("--machine", type=click.Choice(["x86_64", "aarch64"]), help="Lock for this kind of machine.")
@click.option("--check", is_flag=True, help="Write nothing; exit code 1 if the lock is out of date.")
@json_option("Print the changes as a JSON object.")
def lock_packages(
    variants: tuple[str, ...], sources: tuple[Path, ...], check: bool, as_json: bool, **choice: Any
) -> int:
    """Lock the environment images/NAME, keeping every version that still fits. Prints what changes.

    With --from, make it from files of your project. Without, solve it again from the same files, or from
    its requirements.in; without NAME, all of them. `base` pins the distribution packages of the bases that
    are made without a registry, as of today.

    Exit codes: 0 nothing to do, or written; 1 with --check, something changes; 3 something cannot be pinned.
    """
    from reprokit.images.locking import own_variants, relock

    picked = own_variants.VariantChoice(**{key: value or None for key, value in choice.items()})
    if sources or picked != own_variants.VariantChoice():
        if len(variants) != 1:
            raise click.UsageError("--from and what belongs to it need the NAME of one environment")
        found = own_variants.lock_from(
            variants[0],
            sources,
            project=_root(),
            choice=picked,
            write=not check,
            on_progress=_print_progress,
        )
    else:
        found = relock.relock_all(_lock(), variants, write=not check, on_progress=_print_progress)
    if as_json:
        print_json({"agrees": found.agrees, "moved": found.moved})
    else:
        click.echo("".join(f"{line}\n" for line in found.moved), nl=False)
    return 1 if check and not found.agrees else 0


def _root() -> Path:
    """The project around the working directory, with or without environments yet."""
    from reprokit.errors import ImageError
    from reprokit.images import locks
    from reprokit.project import Project

    try:
        return locks.project_around(Path.cwd())
    except ImageError:
        return Project.around(Path.cwd()).root


def _lock() -> locks.Lock:
    """The environments of the project around the working directory."""
    from reprokit.images import locks

    return locks.read_lock(locks.project_around(Path.cwd()))


def _print_progress(line: str) -> None:
    click.echo(line, err=True)
