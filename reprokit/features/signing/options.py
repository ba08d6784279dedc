"""``--sign`` and ``--signer``: sign a report, and check who signed one."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from reprokit.cli.extensions import Audited, Extension, Finish, Options, UnshownOption
from reprokit.cli.help_pages import Title, titled

_FILE = click.Path(path_type=Path)


def signs_with(path: Path) -> Finish:
    """What signs the report of a folder and says where the signature is, with a key that can sign.

    The key is tested now, before anything is run, and usable until the verb ends.

    Raises:
        UsageError: It cannot sign, or needs a passphrase and there is no terminal.
        CannotRunError: OpenSSH is not installed.
    """
    from reprokit.features.signing import signing

    key = click.get_current_context().with_resource(signing.signing_key(path, may_ask=_may_ask()))

    def sign(folder: Path) -> None:
        click.echo(f"Signed: {signing.sign_report(folder / 'report.json', key=key)}", err=True)

    return sign


def _may_ask() -> bool:
    """There is a terminal, or SSH_ASKPASS names a program that asks for passphrases."""
    chosen = os.environ.get("SSH_ASKPASS") and os.environ.get("SSH_ASKPASS_REQUIRE") == "force"
    return sys.stdin.isatty() or bool(chosen)


def _signs(options: Options) -> Finish | None:
    path = options["sign_with"]
    return None if path is None else signs_with(path)


def _signed(report: Path, options: Options) -> Audited:
    """Who signed it, where that was asked for."""
    if options["signers"] is None:
        return Audited(data={"signed_by": ""})
    from reprokit.features.signing import signing
    from reprokit.reports import one_line

    found = signing.check(report, signers=options["signers"])
    return Audited(
        findings=(found.problem,) if found.problem else (),
        data={"signed_by": found.by},
        lines=(f"Signed by {one_line(found.by)}.",) if found.by else (),
    )


SIGNS = Extension(
    options=(
        titled(
            Title.WRITTEN,
            click.option(
                "--sign",
                "sign_with",
                cls=UnshownOption,
                type=_FILE,
                metavar="KEY",
                help="Sign the report with this SSH private key.",
            ),
        ),
    ),
    prepares=_signs,
)

SIGNED = Extension(
    options=(
        click.option(
            "--signer",
            "signers",
            type=_FILE,
            metavar="FILE",
            help="Who must have signed it: a public key, or an allowed_signers file.",
        ),
    ),
    audits=_signed,
)
