"""``report verify`` on the report of a comparison: judged again from the run folders that it names."""

from __future__ import annotations

from pathlib import Path

import click

from reprokit.cli.extensions import Extension, Options
from reprokit.cli.output import print_json


def _answered(options: Options) -> int | None:
    from reprokit.features.compare.answer import FILE

    path = Path(options["path"])
    file = path / FILE if path.is_dir() else path
    if file.name != FILE or not file.is_file():
        return None
    from reprokit.features.compare.audit import audit
    from reprokit.reports import one_line

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
                "answer": found.answer,
                "exit_code": found.exit_code,
            }
        )
        return found.exit_code
    click.echo("The answer follows from the evidence." if found.follows else "The answer does not stand:")
    for finding in found.findings:
        click.echo(f"  - {one_line(finding)}")
    click.echo(f"Answer: {one_line(found.answer or 'not run')}")
    return found.exit_code


EXTENSION = Extension(options=(), answers=_answered)
