"""``reprokit image``: the pinned environments, built, listed, verified and locked."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from reprokit.cli.options import base_option, engine_option, examples

if TYPE_CHECKING:
    from reprokit.images import locks


@click.group(
    "image",
    short_help="Build, list and lock the pinned environments.",
    epilog=examples("reprokit image build cpu"),
)
def command() -> None:
    """Environments under images/: one lock each, realised as a container image or virtual environment."""


@command.command(
    "build",
    short_help="Make a variant's image, or its virtual environment.",
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
    help="Fetch nothing: take wheels and base packages from this folder (`reprokit image vendor`).",
)
@click.option(
    "--builder",
    type=click.Choice(["classic", "buildkit"]),
    default="classic",
    show_default=True,
    help="The engine's builder to use; the image is the same.",
)
@engine_option
@click.option("--venv", "as_venv", is_flag=True, help="Make the virtual environment of the same lock.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
def build_image(
    variant: str, base: str, vendored: Path | None, builder: str, as_venv: bool, as_json: bool
) -> int:
    """Make a variant's environment, or say where it is.

    Wheels are fetched and checked against the lock on this host; the build itself has no network.
    What is there already is found by its content, in well under a second.
    """
    import json

    from reprokit import images
    from reprokit.core import records

    realisation = images.resolve(
        variant,
        project=_lock().root,
        kind="venv" if as_venv else "image",
        base=base,
        builder=builder,
        vendored=vendored,
        on_progress=_say,
    )
    click.echo(json.dumps(records.to_json(realisation), indent=2) if as_json else realisation.reference)
    return 0


@command.command(
    "vendor",
    short_help="Collect all that a build needs, for a machine with no network.",
    epilog=examples("reprokit image vendor cpu /media/stick/cpu"),
)
@click.argument("variant")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
def vendor_image(variant: str, folder: Path, as_json: bool) -> int:
    """Collect everything that a variant is built from in one folder, for a machine with no network.

    Wheels, the base's packages, locks, and a manifest with the SHA-256 of each. There:
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
        on_progress=_say,
    )
    click.echo(json.dumps({"manifest": str(manifest)}) if as_json else str(manifest))
    return 0


@command.command(
    "list",
    short_help="List the environments that are there.",
    epilog=examples("reprokit image list", "reprokit image list --json"),
)
@engine_option
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
def list_images(as_json: bool) -> int:
    """List the environments that are there; `*` marks those that this project would use today.

    IDs and digests are cut to what is enough to name them; `--json` has all of it.
    """
    import json
    from dataclasses import asdict

    from reprokit.images import inventory
    from reprokit.reports import image_page

    rows = inventory.inventory(_lock().root, cache_dir=None)
    if as_json:
        click.echo(json.dumps([asdict(row) for row in rows], indent=2))
    elif not rows:
        click.echo("none yet; `reprokit image build cpu` makes one", err=True)
    else:
        click.echo("\n".join(image_page.image_table(rows)))
    return 0


@command.command(
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
@base_option()
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
    from reprokit.reports import image_page

    lock = _lock()
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
        click.echo("\n".join(image_page.verified_lines(found)))
    return 0 if found.holds else 1


@command.command(
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
    from reprokit.reports import image_page

    found = rebuild.rebuild(_lock(), report, cache=cache.cache_folder(None), on_progress=_say)
    if as_json:
        click.echo(json.dumps({"identical": found.identical, **asdict(found)}, indent=2))
    else:
        click.echo("\n".join(image_page.rebuilt_lines(found)))
    return 0 if found.identical else 1


@command.command(
    "show",
    short_help="Say what is in an image and what it was made from.",
    epilog=examples("reprokit image show cpu", "reprokit image show cpu --json > cpu-image.json"),
)
@click.argument("variant", default="cpu")
@engine_option
@click.option("--all", "show_all", is_flag=True, help="List every package and material.")
@click.option("--json", "as_json", is_flag=True, help="Print both documents as one JSON object.")
def show_image(variant: str, show_all: bool, as_json: bool) -> int:
    """Say what is in the image of VARIANT and what it was made from; it is built where it is missing.

    The documents are those that every run in the image has in its folder: `sbom.cdx.json` (CycloneDX
    1.6; scanners read it) and `image-provenance.json` (in-toto, SLSA 1.0).
    """
    import json

    from reprokit import images
    from reprokit.images import cache, image_documents
    from reprokit.reports import image_page

    realisation = images.resolve(variant, project=_lock().root, kind="image", on_progress=_say)
    sbom, provenance = image_documents.read(
        realisation.reference, variant=variant, cache=cache.cache_folder(None)
    )
    if as_json:
        answer = {"image": realisation.reference, "sbom": sbom, "provenance": provenance}
        click.echo(json.dumps(answer, indent=2, ensure_ascii=False))
    else:
        click.echo(
            "\n".join(image_page.document_lines(realisation.reference, sbom, provenance, show_all=show_all))
        )
    return 0


@command.command(
    "lock",
    short_help="Solve requirements.in into its lock, or check that they agree.",
    epilog=examples(
        "reprokit image lock cpu", "reprokit image lock --check   # every variant", "reprokit image lock base"
    ),
)
@click.argument("variants", nargs=-1, metavar="[VARIANT|base]…")
@click.option("--check", is_flag=True, help="Write nothing; exit code 1 if input and lock disagree.")
@click.option("--json", "as_json", is_flag=True, help="Print what moves as a JSON object.")
def lock_packages(variants: tuple[str, ...], check: bool, as_json: bool) -> int:
    """Solve images/VARIANT/requirements.in into its lock, keeping every version that still fits.

    With no VARIANT: all of them. `base` pins the packages of the base that is made without a registry:
    what the distribution has today.

    Prints what moves. Exit codes: 0 nothing to do, or written; 1 with --check, something moves.
    """
    import json

    from reprokit.images import relock

    found = relock.relock_all(_lock(), variants, write=not check, on_progress=_say)
    if as_json:
        click.echo(json.dumps({"agrees": found.agrees, "moved": found.moved}, indent=2))
    else:
        click.echo("".join(f"{line}\n" for line in found.moved), nl=False)
    return 1 if check and not found.agrees else 0


def _lock() -> locks.Lock:
    """``images/lock.toml`` of the project that the working directory lies in."""
    from reprokit.images import locks

    return locks.read_lock(locks.project_around(Path.cwd()))


def _say(line: str) -> None:
    click.echo(line, err=True)
