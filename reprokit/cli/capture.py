"""``reprokit capture``: record everything about this environment that can change numbers."""

from __future__ import annotations

from pathlib import Path

import click

from reprokit.cli.options import examples


@click.command(
    "capture",
    short_help="Record everything about this environment that can change numbers.",
    epilog=examples(
        "reprokit capture --output here.json", "reprokit capture --python .venv/bin/python --json"
    ),
)
@click.option("--python", metavar="PATH", help="The Python to ask  [default: the `python` on your PATH].")
@click.option("--torch/--no-torch", "with_torch", default=True, help="Import torch and numpy to ask them.")
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="Write the record to a file.")
@click.option("--json", "as_json", is_flag=True, help="Print the record as JSON.")
def command(python: str | None, with_torch: bool, output: Path | None, as_json: bool) -> int:
    """Record the machine, the packages, the libraries' settings in force and the source.

    What cannot be seen is listed as missing, with the reason. Secrets stay out: environment variables
    come from a list of allowed names, and addresses lose their credentials.
    """
    import json

    from reprokit import capture, workspace
    from reprokit.errors import UsageError
    from reprokit.reports import environment_page

    inside = capture.capture_interpreter([python or default_python()], with_torch=with_torch)
    if python is not None and "python" not in inside:
        raise UsageError(
            "this Python could not be asked",
            where=python,
            actual=str(inside["missing"].get("python")),
            fix="name a Python that starts, such as .venv/bin/python",
        )
    host = capture.capture_host(Path.cwd())
    record = capture.merge(inside, host, source=host["source"], image=None, limits=None)
    if output is not None:
        workspace.write_json(output, record)
        click.echo(f"Written: {output}", err=True)
    if as_json:
        click.echo(json.dumps(record, indent=2, ensure_ascii=False))
    elif output is None:
        click.echo("\n".join(environment_page.environment_lines(record)))
    return 0


def default_python() -> str:
    """The Python that a person's own ``python`` starts; this tool's own where there is none."""
    import shutil
    import sys

    return shutil.which("python") or shutil.which("python3") or sys.executable
