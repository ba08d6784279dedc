"""``--sign`` and ``--signer``: who says so, and who may."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from reprokit.reports.signing import Signer
    from reprokit.reports.sshsig import PrivateKey

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


def key_of(path: Path | None) -> PrivateKey | None:
    """The private key, opened before anything is run: a wrong passphrase costs no training.

    The passphrase comes from the terminal alone: a variable would reach the programs that are run.

    Raises:
        UsageError: It is no key, or encrypted and nobody is there to ask.
    """
    if path is None:
        return None
    from reprokit.reports import signing

    return signing.open_key(path, ask=lambda: _ask(path))


def sign(folder: Path | None, *, key: PrivateKey | None) -> None:
    """Sign the report of a folder, where one is to be signed, and say where the signature is."""
    if key is None or folder is None:
        return
    from reprokit.reports import signing

    click.echo(f"Signed: {signing.sign_report(folder / 'report.json', key=key)}", err=True)


def signers_of(path: Path | None) -> tuple[Signer, ...] | None:
    """Those who may sign; None where nobody asks.

    Raises:
        UsageError: The file names nobody.
    """
    if path is None:
        return None
    from reprokit.reports import signing

    return signing.read_signers(path)


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


def _ask(path: Path) -> str:
    from reprokit.errors import UsageError

    if not sys.stdin.isatty():
        raise UsageError(
            "the key is encrypted, and there is no terminal to ask for its passphrase",
            where=str(path),
            fix="sign where you can type it: reprokit report sign REPORT --key KEY",
        )
    return str(click.prompt(f"Passphrase of {path}", hide_input=True, err=True))
