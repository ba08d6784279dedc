"""``reprokit doctor``: what this host is missing, and the command that fixes it."""

from __future__ import annotations

from pathlib import Path

import click

from reprokit.cli.help_pages import Command
from reprokit.cli.options import engine_option, examples, json_option, verbose_option
from reprokit.cli.output import print_answer


@click.command(
    "doctor",
    cls=Command,
    short_help="Check this host; print the command that fixes each problem.",
    epilog=examples("reprokit doctor", "reprokit doctor --json"),
)
@engine_option
@json_option()
@verbose_option
def command(as_json: bool, verbose: bool) -> int:
    """Check whether training can be reproduced on this host. Nothing is changed.

    Exit codes: 0 ready; 3 not ready.
    """
    from dataclasses import asdict

    from reprokit.features.doctor.finding_lines import finding_lines
    from reprokit.features.doctor.findings import examine, is_ready
    from reprokit.features.doctor.host_facts import look

    findings = examine(look(Path.cwd()))
    ready = is_ready(findings)
    print_answer(
        finding_lines(findings, ready=ready, verbose=verbose),
        data=lambda: {"ready": ready, "findings": [asdict(finding) for finding in findings]},
        as_json=as_json,
    )
    return 0 if ready else 3
