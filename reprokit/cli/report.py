"""``reprokit report``: draw a report again, or check one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reprokit.cli.options import examples, folder_options, project_of, request_of
from reprokit.cli.signing_options import key_of, sign, signer_option
from reprokit.layout import RECORD, REPORT

if TYPE_CHECKING:
    from reprokit.core import checklist
    from reprokit.harness import Audit

_EXISTING = click.Path(exists=True, path_type=Path)
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


class _VerdictName(click.ParamType["checklist.Verdict"]):
    name = "verdict"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> checklist.Verdict:
        from reprokit.core import checklist

        try:
            return checklist.Verdict(str(value).upper())
        except ValueError:
            self.fail(f"{value!r} is no verdict: choose one of {', '.join(checklist.Verdict)}", param, ctx)


class _Duration(click.ParamType[timedelta]):
    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> timedelta:
        found = re.fullmatch(r"([1-9][0-9]{0,5})([smhdw])", str(value), re.ASCII)
        if found is None:
            self.fail(f"{value!r} is no duration: a whole number and s, m, h, d or w, such as 7d", param, ctx)
        return timedelta(**{_UNITS[found[2]]: int(found[1])})


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
        "reprokit report verify REPORT --signer FILE --commit HEAD --max-age 7d",
    ),
)
@click.argument("path", type=_EXISTING, metavar="REPORT")
@signer_option
@click.option(
    "--expect", type=_VerdictName(), metavar="VERDICT", help="The verdict that it must have, good or bad."
)
@click.option("--commit", metavar="REV", help="The commit that its runs must be of, with nothing changed.")
@click.option(
    "--max-age", type=_Duration(), metavar="DURATION", help="How old report and runs may be: 12h, 7d, 2w."
)
@click.option("--json", "as_json", is_flag=True, help="Print what was checked.")
@folder_options
def verify_report(
    path: Path,
    as_json: bool,
    signers: Path | None,
    expect: checklist.Verdict | None,
    commit: str | None,
    max_age: timedelta | None,
    **options: Any,
) -> int:
    """Judge again from the run folders that REPORT names, and say whether its verdict follows.

    With --signer it must be signed too, by somebody whom FILE names. Without a signature a report's
    date is only what the file says.

    Exit codes of a report that follows, with no file touched: that of its verdict (0 REPRODUCED,
    1 NONDETERMINISTIC, 4 STALE_GOLDEN, …), or 0 where --expect names the verdict. 1 it does not follow,
    a file was touched since, the signature is missing, somebody else's or of another report, or the
    report is not as expected; 2 the report cannot be read; 3 OpenSSH is not installed; 4 a run folder or
    the golden is gone.
    """
    import json
    from datetime import UTC, datetime

    from reprokit import harness
    from reprokit.errors import ReportError
    from reprokit.reports import expectation

    stored = _report_file(path)
    if stored is None:
        raise ReportError("this is not a report", where=str(path), expected="a folder with report.json")
    project = project_of(options)
    name = None if commit is None else expectation.full_name(commit, folder=project.root)
    expected = expectation.Expectation(verdict=expect, commit=name, max_age=max_age)
    audit = harness.audit(stored, project=project, signers=signers)
    unmet = expectation.unmet(audit.report, expected, now=datetime.now(UTC))
    code = expectation.exit_code(audit.report, expected, audited=audit.exit_code, met=not unmet)
    facts = _facts(audit)
    if as_json:
        answer = {"follows": audit.follows, "signed_by": audit.signed_by, "findings": list(audit.findings)}
        click.echo(json.dumps({**answer, **facts, "unmet": list(unmet), "exit_code": code}, indent=2))
    else:
        _print_audit(audit, facts, unmet)
    if code and audit.follows and not unmet:
        click.echo(
            f"Exit code {code} is that of {facts['verdict']}; 0 with --expect {facts['verdict']}.", err=True
        )
    return code


def _facts(audit: Audit) -> dict[str, Any]:
    """What a report says of which result it is."""
    from reprokit.reports import expectation

    commit, changed = expectation.commit_of(audit.report)
    return {
        "verdict": audit.report.verdict.value,
        "commit": commit or None,
        "source_changed": changed,
        "created_at": audit.report.created_at,
    }


def _print_audit(audit: Audit, facts: Mapping[str, Any], unmet: tuple[str, ...]) -> None:
    from reprokit.reports import one_line

    source = {True: " and files changed since", False: "", None: " (whether files were changed is not known)"}
    commit = f"{facts['commit']}{source[facts['source_changed']]}" if facts["commit"] else "none is recorded"
    click.echo("The verdict follows from the evidence." if audit.follows else "The verdict does not stand:")
    for finding in audit.findings:
        click.echo(f"  - {one_line(finding)}")
    click.echo(f"Verdict: {facts['verdict']}")
    click.echo(f"Commit: {one_line(commit)}")
    click.echo(f"Date: {one_line(facts['created_at'])}")
    if audit.signed_by:
        click.echo(f"Signed by {one_line(audit.signed_by)}.")
    if unmet:
        click.echo("Not as expected:")
    for sentence in unmet:
        click.echo(f"  - {one_line(sentence)}")


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
