"""``reprokit image``: the pinned environments, built, listed and locked."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from reprokit.cli.image_show import show_image
from reprokit.cli.options import examples

if TYPE_CHECKING:
    from reprokit.images.inventory import Row
    from reprokit.images.locks import Lock
    from reprokit.images.verify import Verified


_base_option = click.option(
    "--base", type=click.Choice(["auto", "registry", "bootstrap"]), default="auto", show_default=True,
    help="The digest-pinned image of a registry, or an equivalent one from distribution packages.",
)  # fmt: skip


@click.group(
    "image",
    short_help="Build, list and lock the pinned environments.",
    epilog=examples("reprokit image build cpu"),
)
def command() -> None:
    """Environments under images/: one lock each, realised as a container image or virtual environment."""


@command.command(
    "build", epilog=examples("reprokit image build cpu", "reprokit image build cpu --base bootstrap")
)
@click.argument("variant", default="cpu")
@_base_option
@click.option(
    "--from-vendor", "vendored", type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Fetch nothing: take wheels and base packages from this folder (`reprokit image vendor`).",
)  # fmt: skip
@click.option(
    "--builder", type=click.Choice(["classic", "buildkit"]), default="classic", show_default=True,
    help="The engine's builder to use; the image is the same.",
)  # fmt: skip
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
    "verify", epilog=examples("reprokit image verify cpu", "reprokit image verify cpu --builds 10 --json")
)
@click.argument("variant", default="cpu")
@click.option(
    "--builds", "num_builds", type=click.IntRange(min=2), default=2, show_default=True,
    help="How often to build.",
)  # fmt: skip
@click.option(
    "--builder", "use", type=click.Choice(["classic", "buildkit"]), multiple=True,
    help="Builders to take in turn  [default: those that can be used here].",
)  # fmt: skip
@_base_option
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
    from reprokit.images.locks import read_lock

    lock = read_lock(_project())
    found = verify.verify(
        lock, lock.variant(variant), base=base, num_builds=num_builds, use=use,
        cache=cache.cache_folder(None), on_progress=_say,
    )  # fmt: skip
    if as_json:
        click.echo(json.dumps({"identical": found.holds, **asdict(found)}, indent=2))
    else:
        click.echo("\n".join(_verified_lines(found)))
    return 0 if found.holds else 1


@command.command("vendor", epilog=examples("reprokit image vendor cpu /media/stick/cpu"))
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
        lock, lock.variant(variant), folder, machine=platform.machine(),
        cache=cache.cache_folder(None), on_progress=_say,
    )  # fmt: skip
    click.echo(json.dumps({"manifest": str(manifest)}) if as_json else str(manifest))
    return 0


@command.command("rebuild", epilog=examples("reprokit image rebuild --from reports/cartpole_baseline/T"))
@click.option(
    "--from", "report", required=True, type=click.Path(path_type=Path, exists=True),
    help="A report's folder, its report.json, or a run folder.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
def rebuild_image(report: Path, as_json: bool) -> int:
    """Build the image that a report names once more from nothing, and compare the IDs.

    Exit codes: 0 the same ID; 1 another one.
    """
    import json
    from dataclasses import asdict

    from reprokit.images import cache, rebuild
    from reprokit.images.locks import read_lock

    found = rebuild.rebuild(read_lock(_project()), report, cache=cache.cache_folder(None), on_progress=_say)
    if as_json:
        click.echo(json.dumps({"identical": found.identical, **asdict(found)}, indent=2))
    else:
        verdict = "identical" if found.identical else "differs"
        click.echo(f"{verdict}: the report names {found.named}, the rebuilt image is {found.rebuilt}")
        click.echo("".join(f"         {line}\n" for line in found.reasons), nl=False)
    return 0 if found.identical else 1


command.add_command(show_image)


@command.command("list", epilog=examples("reprokit image list --json"))
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
def list_images(as_json: bool) -> int:
    """List the environments that are there; `*` marks those that this project would use today."""
    import json
    from dataclasses import asdict

    from reprokit.images.inventory import inventory

    rows = inventory(_project(), cache_dir=None)
    if as_json:
        click.echo(json.dumps([asdict(row) for row in rows], indent=2))
    elif not rows:
        click.echo("none yet; `reprokit image build cpu` makes one", err=True)
    else:
        click.echo("\n".join(map(_line, rows)))
    return 0


@command.command("lock", epilog=examples("reprokit image lock cpu", "reprokit image lock cpu --check"))
@click.argument("variant")
@click.option("--check", is_flag=True, help="Write nothing; exit code 1 if input and lock disagree.")
@click.option("--json", "as_json", is_flag=True, help="Print what moves as a JSON object.")
def lock_packages(variant: str, check: bool, as_json: bool) -> int:
    """Solve images/VARIANT/requirements.in into its lock, keeping every version that still fits.

    `base` pins the packages of the base that is made without a registry: what the distribution has
    today. Prints what moves. Exit codes: 0 nothing to do, or written; 1 with --check, something moves.
    """
    import json

    from reprokit.images.locks import read_lock
    from reprokit.images.solve import solve_variant
    from reprokit.workspace import write_atomic

    lock = read_lock(_project())
    if variant == "base":
        return _lock_base(lock, check=check, as_json=as_json)
    chosen = lock.variant(variant)
    solution = solve_variant(lock, chosen)
    if as_json:
        click.echo(json.dumps({"agrees": solution.agrees, "moved": list(solution.moved)}, indent=2))
    else:
        click.echo("".join(f"{line}\n" for line in solution.moved), nl=False)
    if solution.agrees:
        click.echo(f"{chosen.packages_path}: agrees with {chosen.input_path.name}", err=True)
        return 0
    if check:
        click.echo(f"{chosen.packages_path}: is not what {chosen.input_path.name} solves to", err=True)
        return 1
    write_atomic(chosen.packages_path, solution.text.encode("utf-8"))
    click.echo(f"Written: {chosen.packages_path}", err=True)
    return 0


def _lock_base(lock: Lock, *, check: bool, as_json: bool) -> int:
    import json
    import platform

    from reprokit.images import bootstrap, cache, debs
    from reprokit.workspace import write_atomic

    machine = platform.machine()
    path = lock.base_packages(machine)
    found = bootstrap.solve_base(lock, machine=machine, cache=cache.cache_folder(None), on_progress=_say)
    before = debs.read_base_lock(path) if path.is_file() else ()
    lines = debs.moved(before, found)
    agrees = path.is_file() and path.read_text(encoding="utf-8") == debs.lock_text(found)
    if as_json:
        click.echo(json.dumps({"agrees": agrees, "moved": list(lines)}, indent=2))
    else:
        click.echo("".join(f"{line}\n" for line in lines), nl=False)
    if agrees or check:
        _say(f"{path}: {'is' if agrees else 'is not'} what the distribution has today")
        return 0 if agrees else 1
    path.parent.mkdir(exist_ok=True)
    write_atomic(path, debs.lock_text(found).encode("utf-8"))
    _say(f"Written: {path}")
    return 0


def _project() -> Path:
    from reprokit.images.locks import project_around

    return project_around(Path.cwd())


def _say(line: str) -> None:
    click.echo(line, err=True)


def _verified_lines(found: Verified) -> list[str]:
    lines = [f"{one.id[7:19]}  {one.took_s:6.1f} s  {one.builder:<8}  {one.title}" for one in found.builds]
    if found.difference is not None:
        others = found.difference.num_files - 1
        lines += [f"differs: {found.difference.told()}"]
        lines += [f"         and {others} more files"] if others > 0 else []
    else:
        lines += [f"identical: {len(found.builds)} builds of {found.variant}, {found.builds[0].id}"]
    if found.in_engine not in {None, found.builds[0].id}:
        lines += [f"differs: the engine has {found.in_engine} of the same content; remove it"]
    return lines


def _line(row: Row) -> str:
    size = f"{row.size_bytes / 1e9:.2f} GB" if row.size_bytes else "-"
    mark = "*" if row.current else " "
    return (
        f"{mark} {row.variant:<6} {row.kind:<6} {size:>9}  {row.reference}"
        f"  lock {row.lock_digest[7:19]}  {row.base or ''}".rstrip()
    )
