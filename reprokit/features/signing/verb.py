"""``reprokit report sign``: sign a report that is there."""

from __future__ import annotations

from pathlib import Path

import click

from reprokit.cli.help_pages import Command
from reprokit.cli.options import examples, json_option
from reprokit.cli.output import print_json


@click.command("sign", cls=Command, epilog=examples("reprokit report sign REPORT --key ~/.ssh/id_ed25519"))
@click.argument("path", type=click.Path(exists=True, path_type=Path), metavar="REPORT")
@click.option(
    "--key",
    required=True,
    type=click.Path(path_type=Path),
    metavar="KEY",
    help="An SSH private key.",
)
@json_option("Print where the signature is as a JSON object.")
def sign_report(path: Path, key: Path, as_json: bool) -> int:
    """Sign REPORT; the signature is written next to it, as report.json.sig.

    Anyone with your public key can check it with `reprokit report verify --signer`, or without reprokit:
    ssh-keygen -Y verify -n reprokit-report -f allowed_signers -I WHO -s report.json.sig < report.json
    """
    from reprokit.cli.commands.report import require_report
    from reprokit.features.signing import signing
    from reprokit.features.signing.options import signs_with
    from reprokit.reports.formats import to_json

    stored = require_report(path)
    to_json.load(stored)
    signs_with(key)(stored.parent)
    if as_json:
        print_json({"report": str(stored), "signature": str(signing.signature_of(stored))})
    return 0
