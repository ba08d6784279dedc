"""``reprokit doctor``: what this host can do, and the command that would fix each lack."""

from __future__ import annotations

from pathlib import Path

import click


@click.command(
    "doctor",
    short_help="Say what this host can do, and the command that would fix each lack.",
    epilog="Example: reprokit doctor --json",
)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
def command(as_json: bool) -> int:
    """Look at this host and say whether training can be reproduced on it.

    Exit codes: 0 ready; 3 not. Nothing is changed.
    """
    from dataclasses import asdict

    from reprokit import doctor

    findings = doctor.examine(doctor.look(Path.cwd()))
    ready = doctor.is_ready(findings)
    if as_json:
        import json

        answer = {"ready": ready, "findings": [asdict(finding) for finding in findings]}
        click.echo(json.dumps(answer, indent=2, ensure_ascii=False))
        return 0 if ready else 3
    width = max(len(finding.name) for finding in findings)
    for finding in findings:
        click.echo(f"{finding.state:<8} {finding.name:<{width}}  {finding.detail}")
        for note in finding.notes:
            click.echo(f"{'':<{width + 9}}  {note}")
        if finding.fix:
            click.echo(f"{'':<{width + 9}}  → {finding.fix}")
    click.echo("")
    click.echo("Ready." if ready else "Not ready: see the lines that say lack.")
    return 0 if ready else 3
