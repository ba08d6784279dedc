"""``reprokit image``: the pinned environments, built, listed and locked."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from reprokit.cli.image_lock import lock_packages
from reprokit.cli.image_show import show_image
from reprokit.cli.image_verify import rebuild_image, verify_image
from reprokit.cli.options import base_option, engine_option, examples

if TYPE_CHECKING:
    from reprokit.images.inventory import Row


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
@base_option(
    help="The digest-pinned image of a registry, or an equivalent one from distribution packages.",
)
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
    from reprokit.core.records import to_json

    realisation = images.resolve(
        variant,
        project=_project(),
        kind="venv" if as_venv else "image",
        base=base,
        builder=builder,
        vendored=vendored,
        on_progress=_say,
    )
    click.echo(json.dumps(to_json(realisation), indent=2) if as_json else realisation.reference)
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
    from reprokit.images.locks import read_lock

    lock = read_lock(_project())
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

    from reprokit.cli.tables import table
    from reprokit.images.inventory import inventory

    rows = inventory(_project(), cache_dir=None)
    if as_json:
        click.echo(json.dumps([asdict(row) for row in rows], indent=2))
    elif not rows:
        click.echo("none yet; `reprokit image build cpu` makes one", err=True)
    else:
        click.echo("\n".join(table([_columns(row) for row in rows])))
    return 0


for one in (verify_image, rebuild_image, show_image, lock_packages):
    command.add_command(one)


def _project() -> Path:
    from reprokit.images.locks import project_around

    return project_around(Path.cwd())


def _say(line: str) -> None:
    click.echo(line, err=True)


def _columns(row: Row) -> dict[str, str | None]:
    kind, _, base = (row.base or "").partition("sha256:")
    return {
        " ": "*" if row.current else " ",
        "variant": row.variant,
        "kind": row.kind,
        "size": f"{row.size_bytes / 1e9:.2f} GB" if row.size_bytes else None,
        "lock": row.lock_digest.removeprefix("sha256:")[:12],
        "base": f"{kind}{base[:12]}",
        "reference": row.reference[7:19] if row.reference.startswith("sha256:") else row.reference,
    }
