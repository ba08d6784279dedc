"""``reprokit capture``: record everything about this environment that can change numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

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
        click.echo("\n".join(_page(record)))
    return 0


def default_python() -> str:
    """The Python that a person's own ``python`` starts; this tool's own where there is none."""
    import shutil
    import sys

    return shutil.which("python") or shutil.which("python3") or sys.executable


def _page(record: dict[str, Any]) -> list[str]:
    from reprokit.cli.show_report import folded
    from reprokit.core import fingerprint
    from reprokit.core.evidence import fact

    rows: list[tuple[str, Any]] = [
        ("platform", fingerprint.platform_of(record)),
        ("fingerprint", fingerprint.fingerprint(record)),
    ]
    rows += [
        (title, fact(record, path))
        for title, path in (
            ("system", "host.os.name"),
            ("kernel", "host.kernel"),
            ("C library", "inside.libc.version"),
            ("CPU", "host.cpu.model"),
            ("cores", "host.cpu.usable"),
            ("Python", "inside.python.version"),
            ("PyTorch", "inside.packages.torch"),
            ("numpy", "inside.packages.numpy"),
            ("threads", "inside.torch.threads"),
            ("CPU kernels", "inside.torch.cpu_capability"),
            ("MKL branch", "inside.torch.mkl_cbwr"),
            ("commit", "source.commit"),
        )
    ]
    rows.append(("packages", len(record["inside"].get("packages") or {})))
    rows += [
        ("GPU", f"{gpu.get('name')}, driver {gpu.get('driver')}") for gpu in record["host"].get("gpus") or ()
    ]
    if fact(record, "source.dirty"):
        rows.append(("changed", f"{fact(record, 'source.changed')} files differ from the commit"))
    lines = [f"{title:<12} {value}" for title, value in rows if value is not None]
    missing = [folded(f"  {field}: {reason}", indent=4) for field, reason in record["missing"].items()]
    return [*lines, *(["missing", *missing] if missing else [])]
