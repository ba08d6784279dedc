"""``reprokit env capture``: record everything about this environment that can change numbers."""

from __future__ import annotations

from pathlib import Path

import click

from reprokit.cli.help_pages import Command
from reprokit.cli.options import examples, json_option
from reprokit.cli.output import print_json


@click.command(
    "capture",
    cls=Command,
    short_help="Record what can change numbers in this environment.",
    epilog=examples(
        "reprokit env capture --output here.json", "reprokit env capture --python .venv/bin/python --json"
    ),
)
@click.option("--python", metavar="PATH", help="The Python to inspect  [default: `python` on your PATH].")
@click.option("--torch/--no-torch", "with_torch", default=True, help="Import torch and numpy, to ask them.")
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="Write the record to a file.")
@json_option("Print the record as JSON.")
def command(python: str | None, with_torch: bool, output: Path | None, as_json: bool) -> int:
    """Record the machine, the packages, the settings of the libraries, and the source.

    What cannot be read is listed as missing, with the reason. Secrets are left out: only environment
    variables on an allow list are recorded, and credentials are removed from URLs.
    """
    from reprokit import capture, workspace
    from reprokit.errors import UsageError
    from reprokit.reports.pages import environment_page

    inside = capture.capture_interpreter([python or default_python()], with_torch=with_torch)
    if python is not None and "python" not in inside:
        raise UsageError(
            "this Python cannot be inspected",
            where=python,
            actual=str((inside.get("missing") or {}).get("python")),
            fix="give a Python that starts, such as .venv/bin/python",
        )
    host = capture.capture_host(Path.cwd())
    record = capture.merge(inside, host, source=host["source"], image=None, limits=None)
    if output is not None:
        workspace.write_json(output, record)
        click.echo(f"Written: {output}", err=True)
    if as_json:
        print_json(record)
    elif output is None:
        click.echo("\n".join(environment_page.environment_lines(record)))
    return 0


def default_python() -> str:
    """The ``python`` on the PATH, or the one that runs this tool."""
    import shutil
    import sys

    return shutil.which("python") or shutil.which("python3") or sys.executable
