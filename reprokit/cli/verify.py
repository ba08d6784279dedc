"""``reprokit verify``: the gate."""

from __future__ import annotations

from typing import Any

import click

from reprokit.cli.options import examples, folder_options, judge_options, project_of, request_of, run_options


@click.command(
    "verify",
    short_help="Reproduce every recipe of this platform: the gate for a CI.",
    epilog=examples("reprokit verify --golden golden/", "reprokit verify cartpole_baseline --backend local"),
)
@click.argument("recipes", nargs=-1, metavar="[RECIPE…]")
@judge_options
@run_options
@folder_options
def command(recipes: tuple[str, ...], **options: Any) -> int:
    """Reproduce every recipe that declares this platform, or those named, and hold each against its golden.

    A missing golden is NO_GOLDEN (4); no recipe at all is 4, never 0. With several recipes the exit
    code is the first present of 130, 143, 1, 3, 2, 4, 0.
    """
    import json

    from reprokit import harness
    from reprokit.cli import show
    from reprokit.reports import to_json

    request, project = request_of(options), project_of(options)
    with show.progress() as progress:
        answers = harness.verify(request, project=project, progress=progress, names=recipes)
    reports = [answer.report for answer in answers if answer.report is not None]
    show.to_github(reports)
    code = harness.gate_code(answers)
    if options["as_json"]:
        rows = [
            to_json.to_dict(answer.report)
            if answer.report
            else {"recipe": answer.recipe, "error": answer.error}
            for answer in answers
        ]
        click.echo(json.dumps({"exit_code": code, "reports": rows}, indent=2))
        return code
    for report in reports:
        show.report(report, folder=None, as_json=False)
    show.gate(answers)
    return code
