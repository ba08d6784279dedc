"""``report verify`` on the report of a comparison, and ``verify --compare``, which compares with a commit."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reprokit.cli.extensions import Added, Extension, Finish, Options
from reprokit.cli.help_pages import titled
from reprokit.cli.output import print_json

if TYPE_CHECKING:
    from reprokit.core.checklist import Report
    from reprokit.session import Session


def _answered(options: Options) -> int | None:
    from reprokit.features.compare.answer import FILE

    path = Path(options["path"])
    file = path / FILE if path.is_dir() else path
    if file.name != FILE or not file.is_file():
        return None
    from reprokit.features.compare.audit import audit
    from reprokit.reports import one_line
    from reprokit.reports.not_checked import not_checked_lines

    asked = [name for name in ("expect", "commit", "max_age", "signers") if options.get(name) is not None]
    if asked:
        typed = "--" + asked[0].replace("_", "-").replace("signers", "signer")
        raise click.UsageError(f"{typed} is for reports with a verdict, not for a comparison")
    found = audit(file)
    if options["as_json"]:
        print_json(
            {
                "follows": found.follows,
                "findings": list(found.findings),
                "not_checked": list(found.not_checked),
                "made_by": found.made_by,
                "answer": found.answer,
                "exit_code": found.exit_code,
            }
        )
        return found.exit_code
    click.echo("The answer follows from the evidence." if found.follows else "The answer does not stand:")
    for finding in found.findings:
        click.echo(f"  - {one_line(finding)}")
    for line in found.compared:
        click.echo(one_line(line))
    for line in not_checked_lines(found.made_by, found.not_checked):
        click.echo(line)
    click.echo(f"Answer: {one_line(found.answer or 'not run')}")
    return found.exit_code


REPORT = Extension(options=(), answers=_answered)


def _asked(options: Options) -> Finish | None:
    """Refuse before anything is run a commit that is not there."""
    if options["compare_with"] is None:
        if options["compare_file"] or options["moved_fails"]:
            raise click.UsageError("--compare-file and --moved-fails need --compare REV")
        return None
    from reprokit.capture import git_history
    from reprokit.cli.options import project_of

    git_history.resolve(project_of(dict(options)).root, options["compare_with"])
    return None


def _compared(reports: Sequence[Report], options: Options, session: Session) -> Added:
    against = options["compare_with"]
    if against is None:
        return Added()
    import dataclasses

    from reprokit.cli.options import request_of
    from reprokit.features.compare.gate import compare_all, lines, write
    from reprokit.reports import one_line

    request = request_of({"backend": options["backend"], "base": options["base"]})
    record = compare_all(reports, against=against, request=request, session=session)
    if options["compare_file"]:
        write(record, options["compare_file"])
    moved = next((row for row in record.rows if row.answer != "equal"), None)
    code = None
    if options["moved_fails"] and moved is not None and all(report.exit_code == 0 for report in reports):
        code = {"different": 1, None: 3}.get(moved.answer, 4)
    return Added(
        exit_code=code,
        data={"comparisons": [dataclasses.asdict(row) for row in record.rows]},
        lines=tuple(one_line(line) for line in lines(record)),
    )


GATE = Extension(
    options=(
        titled(
            "Compared with an earlier commit",
            click.option(
                "--compare",
                "compare_with",
                metavar="REV",
                help="Then compare each recipe with this commit: did a number move?",
            ),
            click.option(
                "--compare-file",
                type=click.Path(dir_okay=False, path_type=Path),
                metavar="FILE",
                help="Write what --compare found as JSON, for `reprokit report comment`.",
            ),
            click.option(
                "--rounding",
                is_flag=True,
                help="For a stale golden: say whether its environment changed the numbers by more than "
                "rounding. Up to 15 runs.",
            ),
            click.option(
                "--moved-fails", is_flag=True, help="Fail where --compare does not find every number equal."
            ),
        ),
    ),
    prepares=_asked,
    adds=_compared,
)
