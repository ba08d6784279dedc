"""``reprokit report``: draw a report again, or check one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from reprokit.cli.options import examples, folder_options, project_of, request_of
from reprokit.cli.signing_options import key_of, sign, signer_option, signers_of
from reprokit.layout import RECORD, REPORT

_EXISTING = click.Path(exists=True, path_type=Path)


@click.group(
    "report",
    short_help="Show a report again; check that it follows from its evidence.",
    epilog=examples("reprokit report show RUN RUN"),
)
def command() -> None:
    """Reports are drawn from run folders alone; no engine is needed."""


@command.command(
    "show",
    epilog=examples(
        "reprokit report show runs/cartpole_baseline/20261120T101500Z-3fa9-seed42-*",
        "reprokit report show reports/cartpole_baseline/20261120T101512Z-3fa9 --json",
    ),
)
@click.argument("paths", nargs=-1, required=True, type=_EXISTING, metavar="RUN… | REPORT")
@click.option("--json", "as_json", is_flag=True, help="Print report.json.")
@click.option("--strict", is_flag=True, help="Advisory rows are required too.")
@click.option("--ignore-metric", "ignore", multiple=True, metavar="PATTERN", help="Leave metrics out.")
@folder_options
def show_report(paths: tuple[Path, ...], as_json: bool, ignore: tuple[str, ...], **options: Any) -> int:
    """Judge run folders again, or print a report that was written earlier."""
    from reprokit import harness
    from reprokit.cli import show_report
    from reprokit.reports import to_json

    if len(paths) == 1 and (stored := _report_file(paths[0])) is not None:
        answer = to_json.load(stored)
    else:
        answer = harness.judge_again(paths, request_of(options, ignore=ignore), project=project_of(options))
    show_report.report(answer, folder=None, as_json=as_json)
    return answer.exit_code


@command.command(
    "verify",
    epilog=examples(
        "reprokit report verify reports/cartpole_baseline/20261120T101512Z-3fa9",
        "reprokit report verify REPORT --signer allowed_signers",
    ),
)
@click.argument("path", type=_EXISTING, metavar="REPORT")
@signer_option
@click.option("--json", "as_json", is_flag=True, help="Print what was checked.")
@folder_options
def verify_report(path: Path, as_json: bool, signers: Path | None, **options: Any) -> int:
    """Judge again from the run folders that REPORT names, and say whether its verdict follows.

    With --signer it must be signed too, by somebody whom FILE names.

    Exit codes: 0 it follows and nothing was touched; 1 it does not, a file was touched since, or the
    signature is missing, somebody else's or of another report; 2 the report cannot be read; 4 a run
    folder or the golden is gone.
    """
    import json

    from reprokit import harness
    from reprokit.errors import ReportError
    from reprokit.reports.escaping import one_line

    stored = _report_file(path)
    if stored is None:
        raise ReportError("this is not a report", where=str(path), expected="a folder with report.json")
    audit = harness.audit(stored, project=project_of(options), signers=signers_of(signers))
    if as_json:
        told = {"follows": audit.follows, "signed_by": audit.signed_by, "findings": list(audit.findings)}
        click.echo(json.dumps(told, indent=2))
    else:
        click.echo(
            "The verdict follows from the evidence." if audit.follows else "The verdict does not stand:"
        )
        if audit.signed_by:
            click.echo(f"Signed by {one_line(audit.signed_by)}.")
        for finding in audit.findings:
            click.echo(f"  - {one_line(finding)}")
    return audit.exit_code


@command.command("sign", epilog=examples("reprokit report sign REPORT --key ~/.ssh/id_ed25519"))
@click.argument("path", type=_EXISTING, metavar="REPORT")
@click.option(
    "--key",
    required=True,
    type=click.Path(path_type=Path),
    metavar="KEY",
    help="A private key of ssh-keygen's.",
)
@click.option("--json", "as_json", is_flag=True, help="Print where the signature is as a JSON object.")
def sign_report(path: Path, key: Path, as_json: bool) -> int:
    """Sign REPORT: its signature lies beside it, as report.json.sig.

    Whoever has your public key checks it with `reprokit report verify --signer`, or without this tool:
    ssh-keygen -Y verify -n reprokit-report -f allowed_signers -I WHO -s report.json.sig < report.json
    """
    import json

    from reprokit.errors import ReportError
    from reprokit.reports import signing, to_json

    stored = _report_file(path)
    if stored is None:
        raise ReportError("this is not a report", where=str(path), expected="a folder with report.json")
    to_json.load(stored)
    sign(stored.parent, key=key_of(key))
    if as_json:
        click.echo(
            json.dumps({"report": str(stored), "signature": str(signing.signature_of(stored))}, indent=2)
        )
    return 0


def _report_file(path: Path) -> Path | None:
    candidate = path / REPORT if path.is_dir() else path
    return (
        candidate
        if candidate.is_file() and candidate.suffix == ".json" and not (path / RECORD).exists()
        else None
    )
