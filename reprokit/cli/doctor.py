"""``reprokit doctor``: what this host can do, and the command that would fix each lack."""

from __future__ import annotations

from pathlib import Path

import click

from reprokit.cli.options import engine_option, examples


@click.command(
    "doctor",
    short_help="Say what this host lacks, and the command that would mend it.",
    epilog=examples("reprokit doctor", "reprokit doctor --json"),
)
@engine_option
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
def command(as_json: bool) -> int:
    """Look at this host and say whether training can be reproduced on it.

    Exit codes: 0 ready; 3 not. Nothing is changed.
    """
    from dataclasses import asdict

    from reprokit import doctor
    from reprokit.reports import host_findings

    findings = doctor.examine(doctor.look(Path.cwd()))
    ready = doctor.is_ready(findings)
    if as_json:
        import json

        answer = {"ready": ready, "findings": [asdict(finding) for finding in findings]}
        click.echo(json.dumps(answer, indent=2, ensure_ascii=False))
        return 0 if ready else 3
    click.echo("\n".join(host_findings.finding_lines(findings, ready=ready)))
    return 0 if ready else 3
