"""``reprokit numerics``: how operations round, here and elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from reprokit.cli.options import backend_option, base_option, examples, project_of

_SHOWN = 5


@click.group(
    "numerics",
    short_help="Show how every operation rounds here; find which is not portable.",
    epilog=examples("reprokit numerics check"),
)
def command() -> None:
    """Bits of results, operation by operation, in the environments that training uses."""


@command.command(
    "check",
    epilog=examples(
        "reprokit numerics check --json > mine.json",
        "reprokit numerics check --compare mine.json   # on another machine",
        "reprokit numerics check --compare mine.json --cpu EPYC",
    ),
)
@click.option("--variant", default="cpu", show_default=True, metavar="NAME", help="The pinned environment.")
@click.option(
    "--profile",
    type=click.Choice(["portable", "native"]),
    default="portable",
    show_default=True,
    help="The numerics profile to set.",
)
@backend_option(
    help="Container, virtual environment of the same lock, or whichever is there.",
)
@base_option(
    help="What an image is built on.",
)
@click.option("--cpu", metavar="MODEL", help="Emulate this CPU (`qemu-x86_64 -cpu help` lists them).")
@click.option(
    "--compare",
    "other",
    type=click.Path(exists=True, path_type=Path),
    metavar="OTHER",
    help="Hold against a file from --json, a run folder or a golden.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def check(other: Path | None, *, as_json: bool, base: str, **options: Any) -> int:
    """Run every operation that training uses on fixed inputs and print a digest of each result.

    Two machines with the same digests round these operations alike. With --compare: 0 all agree,
    1 some operation rounds differently, 4 nothing could be compared, or not every operation.
    """
    import json

    from reprokit.cli import show_report
    from reprokit.core import rounding
    from reprokit.harness.portability import rounding as probing

    theirs = probing.read_probe(other) if other is not None else None
    wanted = probing.Check(base=base, **options)
    with show_report.progress() as progress:
        found = probing.check(wanted, project=project_of({}), progress=progress)
    compared = rounding.compare(theirs, found["probe"]) if theirs is not None else None
    if as_json:
        answer = (
            None
            if compared is None
            else {
                "compared": compared.compared,
                "differing": list(compared.differing),
                "only_one": list(compared.only_one),
                "because": compared.because,
            }
        )
        click.echo(json.dumps({**found, "comparison": answer}, indent=2))
    else:
        _print(found, compared, theirs or {})
    if compared is None:
        return 0
    if compared.differing:
        return 1
    return 4 if compared.because or compared.only_one else 0


def _print(found: dict[str, Any], compared: Any, theirs: Any) -> None:
    from reprokit.cli.tables import shown, table

    held = found["numerics"] or {}
    where = f"{found['variant']} ({found['backend']}), CPU {found['cpu'] or 'unknown'}"
    click.echo(shown(f"profile {held.get('profile')} version {held.get('version')}, {where}"))
    for lack in held.get("missing") or ():
        click.echo(f"warning: {shown(lack['name'])} is not in force: {shown(lack['why'])}", err=True)
    digests = found["probe"]["digests"]
    names = digests if compared is None else compared.differing
    rows = [
        {
            "operation": name,
            "digest": digests[name],
            **({"other": theirs["digests"][name]} if compared else {}),
        }
        for name in names
    ]
    for line in table(rows):
        click.echo(line)
    for name, why in (found["probe"].get("missing") or {}).items():
        click.echo(f"not run: {shown(name)}: {shown(why)}", err=True)
    if compared is None:
        click.echo(f"{len(digests)} operations")
    elif compared.because:
        click.echo(f"nothing can be compared: {shown(compared.because)}")
    else:
        same = compared.compared - len(compared.differing)
        click.echo(
            f"{same} of {compared.compared} operations round alike, {len(compared.differing)} differently"
        )
        if compared.only_one:
            names = ", ".join(map(shown, compared.only_one[:_SHOWN]))
            more = f" and {len(compared.only_one) - _SHOWN} more" if compared.only_one[_SHOWN:] else ""
            click.echo(f"on one side only, so not compared: {names}{more}")
