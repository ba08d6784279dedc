"""Options of ``reprokit reproduce`` that only a bundle has, and those that none may have."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reprokit.cli.extensions import Extension, Options, Reproduce
from reprokit.cli.help_pages import titled

if TYPE_CHECKING:
    from reprokit.core.checklist import Report
    from reprokit.request import Request
    from reprokit.session import Session

#: Options of `reproduce` that say otherwise than a bundle: name → as it is typed.
_REFUSED = {
    "seed": "--seed",
    "overrides": "--set",
    "platform": "--platform",
    "golden_dir": "--golden",
    "ignore": "--ignore-metric",
    "outputs": "--output",
    "resume": "--resume",
    "stop_at": "--stop-at",
    "vary": "--vary",
    "attribute": "--attribute",
    "diagnose": "--diagnose",
}
_CRATE = "ro-crate-metadata.json"
_OWN = {"sha256": "--sha256", "keep": "--keep"}


def digest_option(_context: click.Context, _option: click.Parameter, value: str | None) -> str | None:
    """The digest of an archive as a person types it, with or without its ``sha256:``."""
    if value is None:
        return None
    digest = value.strip().lower().removeprefix("sha256:")
    if not re.fullmatch(r"[0-9a-f]{64}", digest):
        raise click.BadParameter(
            f"{value!r} is not the SHA-256 that `reprokit bundle` printed, which has 64 hexadecimal digits"
        )
    return f"sha256:{digest}"


def _bundle_file(name: str | None, options: Options) -> Path | None:
    """The bundle that RECIPE names; None for a recipe or a plain command.

    Raises:
        click.UsageError: There is no such file, or an option does not go with what is named.
    """
    from reprokit.features.bundles.archive_form import SUFFIXES
    from reprokit.layout import BUNDLE

    # a name that is too long is no file: Path.is_file() raises an error of it
    if name is not None and all(os.path.isfile(f"{name}/{file}") for file in (BUNDLE, _CRATE)):  # noqa: PTH113
        raise click.UsageError(
            f"{name!r} is an unpacked bundle: give `reproduce` the archive itself, FILE.tar.gz; it checks "
            "and unpacks it (--keep FOLDER keeps what it unpacks)"
        )
    is_archive = name is not None and name.endswith(SUFFIXES)
    if name is None or not (is_archive or ("/" in name and Path(name).is_file())):
        for option, typed in _OWN.items():
            if options[option] is not None:
                raise click.UsageError(
                    f"{typed} goes with a bundle: reprokit reproduce FILE.tar.gz {typed} …"
                )
        return None
    for option, typed in _REFUSED.items():
        if options.get(option) not in (None, False, (), []):
            raise click.UsageError(f"{typed} does not go with a bundle, which fixes it itself")
    if not Path(name).is_file():
        raise click.UsageError(f"there is no file {name!r}")
    return Path(name)


def _reproduces(name: str | None, options: Options) -> Reproduce | None:
    file = _bundle_file(name, options)
    if file is None:
        return None

    def reproduce(request: Request, session: Session) -> tuple[Report, Path]:
        from reprokit.features.bundles.bundle import reproduce_bundle

        bundled = {"sha256": options["sha256"], "keep": options["keep"], "home": session.project}
        return reproduce_bundle(file, request, progress=session.progress, **bundled)

    return reproduce


EXTENSION = Extension(
    options=(
        titled(
            "A bundle",
            click.option(
                "--sha256",
                metavar="DIGEST",
                callback=digest_option,
                help="Refuse any archive with another digest than the author published.",
            ),
            click.option(
                "--keep",
                type=click.Path(path_type=Path),
                metavar="FOLDER",
                help="Unpack it into this new folder, which stays.",
            ),
        ),
    ),
    reproduces=_reproduces,
)
