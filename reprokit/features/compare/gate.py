"""Each recipe of a gate compared with another commit: did a number move, whatever the goldens say?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from reprokit import workspace
from reprokit.core.checklist import Report
from reprokit.errors import CannotJudgeError, ReprokitError
from reprokit.features.compare.answer import Answer
from reprokit.features.compare.asked import SideAsked
from reprokit.features.compare.compare import compare_recipe
from reprokit.features.compare.recipe_sides import SameSidesError
from reprokit.reports.comparison_record import ComparisonRecord, ComparisonRow, comparisons_json
from reprokit.request import Request
from reprokit.session import Session


def compare_all(
    reports: Sequence[Report], *, against: str, request: Request, session: Session
) -> ComparisonRecord:
    """Compare the working tree's recipes with those of a commit; runs that the gate has made are taken.

    Args:
        reports: What the gate judged.
        against: A commit.
        request: How runs are made.
        session: The project.
    """
    rows = (_row(report, against=against, request=request, session=session) for report in reports)
    return ComparisonRecord(against=against, rows=tuple(rows))


def _row(report: Report, *, against: str, request: Request, session: Session) -> ComparisonRow:
    seed = report.seed if isinstance(report.seed, int) else None
    asked = {"a": SideAsked(revision=against), "b": SideAsked()}
    try:
        answer, _ = compare_recipe(
            report.recipe, asked, replace(request, seed=seed), only=None, share=(), session=session
        )
    except SameSidesError as error:
        return ComparisonRow(recipe=report.recipe, seed=seed, answer="equal", sentence=error.what)
    except ReprokitError as error:
        if error.exit_code == CannotJudgeError.exit_code:
            return ComparisonRow(recipe=report.recipe, seed=seed, answer="unjudged", sentence=error.told())
        return ComparisonRow(recipe=report.recipe, seed=seed, sentence=error.told())
    return ComparisonRow(
        recipe=report.recipe,
        seed=seed,
        answer=answer.answer.value if answer.answer else None,
        record=_record(answer),
        sentence=answer.sentence,
    )


def _record(answer: Answer) -> int | None:
    return answer.first["record"] if answer.first is not None and answer.exit_code == 1 else None


def lines(record: ComparisonRecord) -> Iterator[str]:
    """What a terminal shows."""
    for row in record.rows:
        told = {
            "equal": "no number moved",
            "rounding": "moved by rounding",
            "different": f"moved from record {row.record} on",
        }
        if row.answer == "different" and row.record is None:
            told["different"] = "moved"
        what = told.get(row.answer or "", f"not compared: {row.sentence}")
        yield f"{row.recipe} seed {row.seed}, compared with {record.against}: {what}"


def write(record: ComparisonRecord, file: Path) -> None:
    """Write the file for `reprokit report comment`."""
    file.parent.mkdir(parents=True, exist_ok=True)
    workspace.write_atomic(file, comparisons_json(record).encode("ascii"))
