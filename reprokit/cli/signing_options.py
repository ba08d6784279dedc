"""``--sign`` and ``--signer``: sign a report, and check who signed one."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from reprokit.reports import signing

_OPTION = "--sign"
_FILE = click.Path(path_type=Path)

sign_option = click.option(
    _OPTION, "sign_with", type=_FILE, metavar="KEY", help="Sign the report with this SSH private key."
)

signer_option = click.option(
    "--signer",
    "signers",
    type=_FILE,
    metavar="FILE",
    help="Who must have signed it: a public key, or an allowed_signers file.",
)


def key_of(path: Path | None) -> signing.SigningKey | None:
    """The key, tested before anything is run, and usable until the verb ends.

    Raises:
        UsageError: It cannot sign, or needs a passphrase and there is no terminal.
        CannotRunError: OpenSSH is not installed.
    """
    if path is None:
        return None
    from reprokit.reports import signing

    return click.get_current_context().with_resource(signing.signing_key(path, may_ask=_may_ask()))


def sign(folder: Path | None, *, key: signing.SigningKey | None) -> None:
    """Sign the report of a folder, where there are both key and report, and say where the signature is."""
    if key is None or folder is None:
        return
    from reprokit.reports import signing

    click.echo(f"Signed: {signing.sign_report(folder / 'report.json', key=key)}", err=True)


def without_key(words: Sequence[str]) -> list[str]:
    """A command line without the path of a private key, for the report.

    >>> without_key(["reproduce", "x", "--sign", "/home/ada/.ssh/id_ed25519"])
    ['reproduce', 'x', '--sign', 'KEY']
    """
    hidden = list(words)
    own = hidden[: hidden.index("--")] if "--" in hidden else hidden
    for at, word in enumerate(own):
        if word.startswith(f"{_OPTION}="):
            hidden[at] = f"{_OPTION}=KEY"
        elif at and own[at - 1] == _OPTION:
            hidden[at] = "KEY"
    return hidden


def _may_ask() -> bool:
    """There is a terminal, or SSH_ASKPASS names a program that asks for passphrases."""
    chosen = os.environ.get("SSH_ASKPASS") and os.environ.get("SSH_ASKPASS_REQUIRE") == "force"
    return sys.stdin.isatty() or bool(chosen)
