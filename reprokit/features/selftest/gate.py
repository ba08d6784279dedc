"""The gate's own proof: a quick selftest on copies of the runs that it has just judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from reprokit.core.checklist import Report
from reprokit.errors import CannotJudgeError, ReprokitError
from reprokit.features.selftest.samples import of_runs
from reprokit.features.selftest.score import Score, run
from reprokit.project import Project
from reprokit.session import Progress, Session

#: Every kind of fault at least twice, in a few seconds.
NUM_FAULTS, NUM_CLEAN = 150, 5


@dataclass(frozen=True, slots=True, kw_only=True)
class GateProof:
    """A selftest on copies of one recipe's runs; without a score, there is no good verdict to trust."""

    recipe: str
    runs: tuple[str, ...]
    score: Score | None
    because: str
    trusted: bool


def prove(reports: Sequence[Report], *, session: Session) -> list[GateProof]:
    """Plant faults in copies of the runs of each report."""
    return [_proof(report, session.project, session.progress) for report in reports]


def exit_code(proofs: Sequence[GateProof]) -> int | None:
    """4 in place of the gate's exit code where it missed a fault; None where that stands."""
    return None if all(proof.trusted for proof in proofs) else CannotJudgeError.exit_code


def _proof(report: Report, project: Project, progress: Progress) -> GateProof:
    folders = [Path(folder) for folder in report.runs[:2]]
    score, because = None, ""
    try:
        found = of_runs(folders, project=project)
        score = run(
            found.samples, num_faults=NUM_FAULTS, num_clean=NUM_CLEAN, seed=report.seed, progress=progress
        )
    except ReprokitError as error:
        because = str(error)
    return GateProof(
        recipe=report.recipe,
        runs=tuple(map(str, folders)),
        score=score,
        because=because,
        trusted=score.exit_code == 0 if score else report.exit_code != 0,
    )
