"""``reprokit verify --selftest``: faults in copies of the runs just judged; ``--selftest-only``: of any."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from reprokit.cli.extensions import Added, Extension, Options
from reprokit.cli.help_pages import titled
from reprokit.cli.options import number_option, project_of
from reprokit.features.selftest.verb import EXISTING, NUM_CLEAN, NUM_FAULTS

if TYPE_CHECKING:
    from reprokit.core.checklist import Report
    from reprokit.session import Session

#: What --selftest-only is told: name → as it is typed.
_DRAWN = {
    "num_faults": "--faults",
    "num_clean": "--clean",
    "faults_seed": "--faults-seed",
    "fault": "--fault",
    "copied": "--copy-of",
}
#: What else goes with it.
_ALSO = ("recipes", "only_selftest", "as_json", "golden_dir", "runs_dir", "reports_dir")


def _proven(reports: Sequence[Report], options: Options, session: Session) -> Added:
    if not options["proves_itself"]:
        return Added()
    from reprokit.features.selftest.gate import exit_code, prove
    from reprokit.features.selftest.score_lines import proof_data, proof_lines

    proofs = prove(reports, session=session)
    return Added(
        exit_code=exit_code(proofs),
        data={"selftest": [proof_data(proof) for proof in proofs]} if proofs else {},
        lines=tuple(line for proof in proofs for line in proof_lines(proof)),
    )


def _answered(options: Options) -> int | None:
    """Answer ``verify --selftest-only``."""
    given = {name: options[name] for name in _DRAWN if options[name] is not None}
    if not options["only_selftest"]:
        if given:
            raise click.UsageError(f"{_DRAWN[next(iter(given))]} goes with --selftest-only")
        return None
    context = click.get_current_context()
    for param in context.command.params:
        typed = context.get_parameter_source(param.name or "") is ParameterSource.COMMANDLINE
        if typed and param.name not in {*_DRAWN, *_ALSO}:
            raise click.UsageError(f"{param.opts[0]} is for runs that are judged, not for --selftest-only")
    if len(options["recipes"]) > 1:
        raise click.UsageError("--selftest-only takes one recipe")
    from reprokit.features.selftest.verb import plant

    return plant(
        next(iter(options["recipes"]), None),
        named=given.get("copied", ()),
        num_faults=given.get("num_faults", NUM_FAULTS),
        num_clean=given.get("num_clean", NUM_CLEAN),
        seed=given.get("faults_seed", 0),
        only=given.get("fault"),
        as_json=options["as_json"],
        project=project_of(dict(options)),
    )


EXTENSION = Extension(
    options=(
        titled(
            "Check of the gate itself",
            click.option(
                "--selftest",
                "proves_itself",
                is_flag=True,
                help="Then plant faults in copies of the runs; exit code 4 if one is missed.",
            ),
            click.option(
                "--selftest-only",
                "only_selftest",
                is_flag=True,
                help="Judge nothing: plant faults in copies of the newest two runs, and count those caught.",
            ),
            number_option(
                "--faults",
                "num_faults",
                least=1,
                most=10**6,
                help=f"How many faults  [default: {NUM_FAULTS}].",
            ),
            number_option(
                "--clean",
                "num_clean",
                least=1,
                most=10**6,
                help=f"How many clean copies  [default: {NUM_CLEAN}].",
            ),
            number_option(
                "--faults-seed",
                least=0,
                most=2**32 - 1,
                help="What the faults are drawn from  [default: 0].",
            ),
            click.option("--fault", metavar="ID", help="Plant only this fault, by the ID that was printed."),
            click.option(
                "--copy-of", "copied", nargs=2, type=EXISTING, metavar="RUN RUN", help="Copy these two runs."
            ),
        ),
    ),
    answers=_answered,
    adds=_proven,
)
