"""``reprokit verify``: the gate."""

from __future__ import annotations

from typing import Any

import click

from reprokit.cli import verify_cpus
from reprokit.cli.options import (
    attribute_option,
    examples,
    folder_options,
    judge_options,
    project_of,
    request_of,
    resume_options,
    run_options,
    why_options,
)
from reprokit.cli.signing_options import key_of, sign, sign_option
from reprokit.cli.verify_cpus import cpu_options


@click.command(
    "verify",
    short_help="Reproduce every recipe of this platform: the gate for a CI.",
    epilog=examples(
        "reprokit verify --golden golden/",
        "reprokit verify cartpole_baseline --backend local",
        "reprokit verify --vary    # under other surroundings too",
        "reprokit verify --cpu Haswell,EPYC,Skylake-Server",
    ),
)
@click.argument("recipes", nargs=-1, metavar="[RECIPE…]")
@cpu_options
@click.option(
    "--selftest",
    "proves_itself",
    is_flag=True,
    help="Then plant faults in copies of the runs: a gate that misses one ends with 4.",
)
@sign_option
@attribute_option
@why_options
@resume_options
@judge_options
@run_options
@folder_options
def command(recipes: tuple[str, ...], **options: Any) -> int:
    """Reproduce every recipe that declares this platform, or those named, and hold each against its golden.

    A missing golden is NO_GOLDEN (4); no recipe at all is 4, never 0. With several recipes the exit
    code is the first present of 130, 143, 1, 3, 2, 4, 0.

    With --cpu only the first updates are made, natively and on each emulated CPU, and held against the
    golden's trace; where they differ, the operation is named that gives other bits there.
    """
    if options["cpus"]:
        return verify_cpus.verify(recipes, options)
    import json

    from reprokit import harness
    from reprokit.cli import selftest, show_report
    from reprokit.harness.selftest import gate_code, prove
    from reprokit.reports import to_json

    request, project = request_of(options), project_of(options)
    key = key_of(options["sign_with"])
    with show_report.progress() as progress:
        answers = harness.verify(request, project=project, progress=progress, names=recipes)
        reports = [answer.report for answer in answers if answer.report is not None]
        proofs = prove(reports, project=project, progress=progress) if options["proves_itself"] else []
    for answer in answers:
        sign(answer.folder, key=key)
    show_report.to_github(reports)
    code = gate_code(harness.gate_code(answers), proofs)
    if options["as_json"]:
        rows = [
            to_json.to_dict(answer.report)
            if answer.report
            else {"recipe": answer.recipe, "error": answer.error}
            for answer in answers
        ]
        proven = {"selftest": [selftest.proof_to_json(proof) for proof in proofs]} if proofs else {}
        click.echo(json.dumps({"exit_code": code, "reports": rows, **proven}, indent=2))
        return code
    for answer in answers:
        if answer.report is not None:
            show_report.report(answer.report, folder=answer.folder, as_json=False)
    show_report.gate(answers)
    for proof in proofs:
        selftest.print_proof(proof)
    return code
