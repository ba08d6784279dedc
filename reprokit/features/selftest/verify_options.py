"""``reprokit verify --selftest``: the gate plants faults in copies of the runs that it has just judged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from reprokit.cli.extensions import Added, Extension, Options

if TYPE_CHECKING:
    from reprokit.core.checklist import Report
    from reprokit.session import Session


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


EXTENSION = Extension(
    options=(
        click.option(
            "--selftest",
            "proves_itself",
            is_flag=True,
            help="Then plant faults in copies of the runs; exit code 4 if one is missed.",
        ),
    ),
    adds=_proven,
)
