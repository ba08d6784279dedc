"""``compare`` as a function: both sides run, judged, and written as a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from reprokit.features.compare.answer import SIDES, Answer, StoredAnswer, Word
from reprokit.features.compare.command_sides import run_commands
from reprokit.features.compare.judge import Selected, judged
from reprokit.features.compare.report import write_report
from reprokit.features.compare.seals import Seals
from reprokit.harness.judging.build_report import evidence_digests
from reprokit.harness.running.clock import now, stamp
from reprokit.request import Request
from reprokit.session import Session

#: Where the reports are, below the folder of reports.
FOLDER = "compare"


def compare_commands(
    commands: Mapping[str, Sequence[str]], request: Request, *, only: tuple[str, ...] | None, session: Session
) -> tuple[Answer, Path]:
    """Run two plain commands and judge; the answer, and the folder of its report."""
    seals = Seals()
    made = run_commands(commands, request, seals=seals, session=session)
    selected = Selected(ignore=tuple(request.ignore), only=only)
    return answered(made, request, selected=selected, seals=seals, session=session)


def answered(
    made: Mapping[str, Sequence[Path]],
    request: Request,
    *,
    selected: Selected,
    seals: Seals,
    session: Session,
) -> tuple[Answer, Path]:
    """Judge the runs of both sides and write the report."""
    with session.phase("judge"):
        answer = judged(made, selected=selected)
        if broken := seals.broken():
            answer = replace(answer, answer=Word.UNJUDGED, sentence=broken, hint="", first=None)
    name = next(folder.parent.name for side in SIDES for folder in made[side])
    folder = session.project.reports_dir / FOLDER / name / stamp()
    folders = [folder for side in SIDES for folder in made[side]]
    stored = StoredAnswer(
        name=name,
        command=request.command,
        created_at=now(),
        ignore=selected.ignore,
        only=selected.only,
        evidence=evidence_digests(folders, None),
        answer=answer.as_data(),
    )
    write_report(stored, folder)
    return answer, folder
