"""``reprokit report export``: the reproducibility statement that conferences ask for."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from reprokit.cli.help_pages import Command
from reprokit.cli.options import examples, json_option
from reprokit.cli.output import print_json
from reprokit.layout import REPORT


@click.command(
    "export",
    cls=Command,
    epilog=examples(
        "reprokit report export reports/cartpole_baseline/20261120T101512Z-3fa9",
        "reprokit report export REPORT --format latex --output statement.tex",
    ),
)
@click.argument("path", type=click.Path(exists=True, path_type=Path), metavar="REPORT")
@click.option(
    "--format",
    "form",
    type=click.Choice(["markdown", "latex"]),
    default="markdown",
    show_default=True,
    help="LaTeX is for \\input; it needs no package.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Where to write it  [default: standard output].",
)
@json_option("Print the statement's questions and answers as JSON.")
def export(path: Path, form: str, output: Path | None, as_json: bool) -> int:
    """Write the reproducibility statement of REPORT: what was shown, what failed, what was not judged.

    Nothing is claimed that no check judged. `reprokit report verify` says whether the report itself is right.
    """
    from reprokit import workspace
    from reprokit.features.statement import statement, statement_formats
    from reprokit.reports.formats import to_json

    report = to_json.load(path)
    file = path / REPORT if path.is_dir() else path
    found = statement.statement_of(report, sha256=workspace.sha256_of(file))
    if as_json:
        print_json(asdict(found), default=str)
        return 0
    draw = statement_formats.to_latex if form == "latex" else statement_formats.to_markdown
    if output is None:
        click.echo(draw(found), nl=False)
    else:
        workspace.write_atomic(output, draw(found).encode("utf-8"))
        click.echo(f"Written: {output}", err=True)
    return 0
