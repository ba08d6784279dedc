"""``--sign`` and ``--signer``: who says so, and who may."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from reprokit.reports import signing

_Function = TypeVar("_Function", bound=Callable[..., Any])

_OPTION = "--sign"
_FILE = click.Path(path_type=Path)


def sign_option(function: _Function) -> _Function:
    """``--sign``: sign the report when it is written."""
    return click.option(
        _OPTION,
        "sign_with",
        type=_FILE,
        metavar="KEY",
        help="Sign the report with this private key of ssh-keygen's.",
    )(function)


def signer_option(function: _Function) -> _Function:
    """``--signer``: whose signature a report must have."""
    return click.option(
        "--signer",
        "signers",
        type=_FILE,
        metavar="FILE",
        help="Whose signature it must have: a public key, or an allowed_signers file.",
    )(function)


def key_of(path: Path | None) -> signing.SigningKey | None:
    """The key that signs, tried before anything is run, and usable until the verb ends.

    Raises:
        UsageError: It cannot sign, or needs a passphrase and nobody is there to ask.
        CannotRunError: OpenSSH is not installed.
    """
    if path is None:
        return None
    from reprokit.reports import signing

    return click.get_current_context().with_resource(signing.signing_key(path, may_ask=_may_ask()))


def sign(folder: Path | None, *, key: signing.SigningKey | None) -> None:
    """Sign the report of a folder, where one is to be signed, and say where the signature is."""
    if key is None or folder is None:
        return
    from reprokit.reports import signing

    click.echo(f"Signed: {signing.sign_report(folder / 'report.json', key=key)}", err=True)


def without_key(words: Sequence[str]) -> list[str]:
    """A command line as a report may tell it: where a private key lies is nobody's business.

    >>> without_key(["reproduce", "x", "--sign", "/home/ada/.ssh/id_ed25519"])
    ['reproduce', 'x', '--sign', 'KEY']
    """
    told, plain = list(words), len(words)
    if "--" in told:
        plain = told.index("--")
    for at, word in enumerate(told[:plain]):
        if word.startswith(f"{_OPTION}="):
            told[at] = f"{_OPTION}=KEY"
        elif at and told[at - 1] == _OPTION:
            told[at] = "KEY"
    return told


def _may_ask() -> bool:
    """A terminal, or the program that somebody chose to ask for passphrases where there is none."""
    chosen = os.environ.get("SSH_ASKPASS") and os.environ.get("SSH_ASKPASS_REQUIRE") == "force"
    return sys.stdin.isatty() or bool(chosen)
