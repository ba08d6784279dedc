"""``reprokit report``: show, verify and sign reports."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reprokit import extras
from reprokit.cli.extensions import Audited, ExtensibleGroup, answer_of, extensions, feature_options
from reprokit.cli.help_pages import Title, titled
from reprokit.cli.options import (
    examples,
    folder_options,
    ignore_option,
    json_option,
    project_of,
    request_of,
    verbose_option,
)
from reprokit.cli.output import print_json
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
            self.fail(f"{value!r} is not a verdict: choose one of {', '.join(checklist.Verdict)}", param, ctx)


class _Duration(click.ParamType[timedelta]):
    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> timedelta:
        found = re.fullmatch(r"([1-9][0-9]{0,5})([smhdw])", str(value), re.ASCII)
        if found is None:
            self.fail(f"{value!r} is not a number followed by s, m, h, d or w, such as 7d", param, ctx)
        return timedelta(**{_UNITS[found[2]]: int(found[1])})


@click.group(
    "report",
    cls=ExtensibleGroup,
    short_help="Show a report, check it against its evidence, sign or export it.",
    epilog=examples("reprokit report show RUN RUN"),
)
def command() -> None:
    """Work with reports. They are made from run folders alone; no container engine is needed."""


@command.command(
    "show",
    epilog=examples(
        "reprokit report show runs/cartpole_baseline/20261120T101500Z-3fa9-seed42-*",
        "reprokit report show reports/cartpole_baseline/20261120T101512Z-3fa9 --json",
    ),
)
@click.argument("paths", nargs=-1, required=True, type=_EXISTING, metavar="RUN… | REPORT")
@json_option("Print report.json.")
@verbose_option
@click.option("--strict", is_flag=True, help="Make advisory rows required.")
@ignore_option("Leave metrics out.")
@titled(
    Title.WRITTEN,
    click.option(
        "--pdf",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="Also write a PDF of at most four pages, with report.json in it.",
    ),
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "notebook"]),
    default="text",
    show_default=True,
    help="notebook: the page as HTML for a cell of a notebook.",
)
@folder_options
def show_report(
    paths: tuple[Path, ...],
    as_json: bool,
    verbose: bool,
    ignore: tuple[str, ...],
    pdf: Path | None,
    form: str,
    **options: Any,
) -> int:
    """Judge run folders again, or print a stored report."""
    if pdf is not None:
        extras.must_have("typst")  # before anything is judged
    if form == "notebook":
        extras.must_have("jinja2")
        if as_json:
            raise click.UsageError("--json and --format notebook are two answers: choose one")
    from reprokit import harness
    from reprokit.cli import show_report
    from reprokit.reports.formats import to_json, to_pdf

    if len(paths) == 1 and (stored := _report_file(paths[0])) is not None:
        answer = to_pdf.load(stored) if to_pdf.is_pdf(stored) else to_json.load(stored)
    else:
        harness.must_leave_out(paths, ignore)
        answer = harness.judge_again(paths, request_of(options, ignore=ignore), project=project_of(options))
    if form == "notebook":
        show_report.notebook(answer)
    else:
        show_report.report(answer, folder=None, as_json=as_json, verbose=verbose)
    if pdf is not None:
        show_report.write_pdf(answer, pdf)
    return answer.exit_code


@command.command(
    "verify",
    common="signer expect commit max-age json",
    epilog=examples(
        "reprokit report verify reports/cartpole_baseline/20261120T101512Z-3fa9",
        "reprokit report verify REPORT --signer allowed_signers",
        "reprokit report verify REPORT --signer FILE --commit HEAD --max-age 7d",
    ),
)
@click.argument("path", type=_EXISTING, metavar="REPORT")
@feature_options("report verify")
@click.option(
    "--expect", type=_VerdictName(), metavar="VERDICT", help="The verdict it must have, good or bad."
)
@click.option("--commit", metavar="REV", help="The commit its runs must be of, with no changes.")
@click.option(
    "--max-age",
    type=_Duration(),
    metavar="DURATION",
    help="Maximum age of report and runs: 12h, 7d, 2w.",
)
@json_option("Print what was checked.")
@folder_options
def verify_report(
    path: Path,
    as_json: bool,
    expect: checklist.Verdict | None,
    commit: str | None,
    max_age: timedelta | None,
    **options: Any,
) -> int:
    """Judge the run folders of REPORT again, and say whether its verdict follows from them.

    REPORT is a folder with report.json, or a PDF of `report show --pdf`, whose pages are compared too.

    With --signer it must also be signed by someone whom FILE names. The date of a report without a
    signature proves nothing.

    Exit codes of a genuine report: that of its verdict (0 REPRODUCED, 1 NONDETERMINISTIC, 4 STALE_GOLDEN,
    …), or 0 if --expect names the verdict. Otherwise: 1 the verdict does not follow, a file was changed,
    the signature is missing or wrong, or the report is not as expected; 2 the report cannot be read; 3
    OpenSSH is not installed; 4 a run folder or the golden is missing, or the golden is not one of --golden.
    """
    from datetime import UTC, datetime

    from reprokit import harness
    from reprokit.reports import expectation

    asked = {"path": path, "as_json": as_json, "expect": expect, "commit": commit, "max_age": max_age}
    if (answered := answer_of("report verify", {**options, **asked})) is not None:
        return answered
    stored = path if path.is_file() and _is_pdf(path) else require_report(path)
    project = project_of(options)
    name = None if commit is None else expectation.full_name(commit, folder=project.root)
    expected = expectation.Expectation(verdict=expect, commit=name, max_age=max_age)
    added = [each.audits(stored, options) for each in extensions("report verify") if each.audits]
    found_already = tuple(finding for addition in added for finding in addition.findings)
    audit = harness.audit(stored, project=project, found_already=found_already)
    unmet = expectation.unmet(audit.report, expected, now=datetime.now(UTC))
    code = expectation.exit_code(audit.report, expected, audited=audit.exit_code, met=not unmet)
    facts = _facts(audit)
    if as_json:
        further = {key: value for addition in added for key, value in addition.data.items()}
        answer = {"follows": audit.follows, **further, "findings": list(audit.findings)}
        answer |= {"not_checked": list(audit.not_checked), "made_by": audit.made_by}
        print_json({**answer, **facts, "unmet": list(unmet), "exit_code": code})
    else:
        _print_audit(audit, facts, added, unmet)
    if code and audit.follows and not unmet:
        verdict = facts["verdict"]
        click.echo(f"Exit code {code} is that of {verdict}; it is 0 with --expect {verdict}.", err=True)
    return code


def _facts(audit: Audit) -> dict[str, Any]:
    """Which result a report is of."""
    from reprokit.reports import expectation

    commit, changed = expectation.commit_of(audit.report)
    return {
        "verdict": audit.report.verdict.value,
        "commit": commit or None,
        "source_changed": changed,
        "created_at": audit.report.created_at,
    }


def _print_audit(
    audit: Audit, facts: Mapping[str, Any], added: Sequence[Audited], unmet: tuple[str, ...]
) -> None:
    from reprokit.errors import CannotJudgeError
    from reprokit.reports import one_line
    from reprokit.reports.not_checked import not_checked_lines

    source = {True: " and files changed since", False: "", None: " (unknown whether files were changed)"}
    commit = f"{facts['commit']}{source[facts['source_changed']]}" if facts["commit"] else "not recorded"
    if not facts["commit"] and (named := (audit.report.bundle or {}).get("commit")):
        commit = f"{named}, as the author of the bundle says; it was not checked"
    not_there = "cannot be checked" if audit.exit_code == CannotJudgeError.exit_code else "does not stand"
    click.echo("The verdict follows from the evidence." if audit.follows else f"The verdict {not_there}:")
    for finding in audit.findings:
        click.echo(f"  - {one_line(finding)}")
    for line in not_checked_lines(audit.made_by, audit.not_checked):
        click.echo(line)
    click.echo(f"Verdict: {facts['verdict']}")
    click.echo(f"Commit: {one_line(commit)}")
    click.echo(f"Date: {one_line(facts['created_at'])}")
    for line in (line for addition in added for line in addition.lines):
        click.echo(line)
    if unmet:
        click.echo("Not as expected:")
    for sentence in unmet:
        click.echo(f"  - {one_line(sentence)}")


def _report_file(path: Path) -> Path | None:
    file = path / REPORT if path.is_dir() else path
    if not file.is_file():
        return None
    is_report = _is_pdf(file) if file.suffix != ".json" else not (path / RECORD).exists()
    return file if is_report else None


def _is_pdf(file: Path) -> bool:
    from reprokit.reports.formats import to_pdf

    return to_pdf.is_pdf(file)


def require_report(path: Path) -> Path:
    """The ``report.json`` of a report or of its folder; not one in a PDF.

    Raises:
        ReportError: It is something else.
    """
    from reprokit.errors import ReportError

    stored = _report_file(path)
    if stored is None or stored.suffix != ".json":
        is_archive = path.name.endswith((".tar.gz", ".tgz"))
        raise ReportError(
            "this is not a report",
            where=str(path),
            expected="a folder with report.json",
            fix=f"`reprokit bundle --check {path}` checks an archive of `bundle`" if is_archive else None,
        )
    return stored
