"""The gate: every recipe of this platform, one exit code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from reprokit import capture, golden, recipes
from reprokit.core import fingerprint
from reprokit.core.checklist import Report
from reprokit.errors import CannotJudgeError, RecipeError, ReprokitError, UsageError
from reprokit.harness.attribution.changed_since import unchanged_since
from reprokit.harness.judging import report_index
from reprokit.harness.reproduce import reproduce
from reprokit.harness.running.environments.preflight import lock_must_not_contradict
from reprokit.harness.running.seeds import seeds_of
from reprokit.layout import REPORT
from reprokit.project import Project
from reprokit.reports import gate_record as gate_file
from reprokit.request import Request
from reprokit.session import Session

if TYPE_CHECKING:
    from reprokit.reports.pages.index_page import IndexEntry

_PRECEDENCE = (130, 143, 1, 3, 2, 4, 0)


class Answered(Protocol):
    """Whatever knows the exit code that it calls for."""

    @property
    def exit_code(self) -> int:
        """The code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GateAnswer:
    """What the gate learned of one recipe: a report, an error in its place, or why none is needed."""

    recipe: str
    report: Report | None = None
    folder: Path | None = None
    error: str = ""
    left_out: str = ""
    exit_code: int


def verify(
    request: Request, *, session: Session, names: Sequence[str] = (), changed: str | None = None
) -> list[GateAnswer]:
    """Reproduce every recipe that declares this platform, whether it has a golden or not.

    Args:
        request: As for ``reproduce``; without a seed, every seed that the recipe declares or
            that has a golden is judged.
        session: The project, and the progress that is shown.
        names: Only these recipes, whatever they declare; all when empty.
        changed: A commit: recipes that stand on what they stood on there are left out, and said to be.

    Raises:
        UsageError: There is no such commit.
    """
    asked = recipes.platform_asked(request.overrides)
    platform = asked or fingerprint.platform_of_host(capture.capture_host(session.project.root))
    answers: list[GateAnswer] = []
    chosen = names or recipes.list_names(session.project.recipes_dir)
    unchanged = unchanged_since(changed, chosen, project=session.project) if changed is not None else {}
    for name in chosen:
        try:
            recipe = recipes.load(name, recipes_dir=session.project.recipes_dir)
            if name in unchanged:
                lock_must_not_contradict(recipe, project=session.project)
                answers.append(GateAnswer(recipe=name, left_out=unchanged[name], exit_code=0))
                continue
            if not names and platform not in recipe.platforms:
                session.progress.note(f"{name} does not declare {platform}: not judged here")
                continue
            if request.statistical and names:
                _must_say_what_is_judged(recipe)
            statistical = request.statistical or recipe.ensemble_decides_on(platform)
            for seed in seeds_of(recipe, request, session.project, platform):
                wanted = replace(request, seed=seed, statistical=statistical, gate=True)
                report, folder = reproduce(name, wanted, session=session)
                answers.append(
                    GateAnswer(recipe=name, report=report, folder=folder, exit_code=report.exit_code)
                )
        except ReprokitError as error:
            answers.append(GateAnswer(recipe=name, error=str(error), exit_code=error.exit_code))
    if not names:
        answers.extend(_without_a_recipe({answer.recipe for answer in answers}, session.project, platform))
    return answers


def _must_say_what_is_judged(recipe: recipes.Recipe) -> None:
    if not recipe.statistical:
        raise RecipeError(
            "the recipe does not say what an ensemble is judged by",
            where=str(recipe.file),
            expected="`statistical: {metric: …, window: last, margin: …, direction: higher}`",
            fix="add it, or leave out --statistical",
        )


def _without_a_recipe(judged: set[str], project: Project, platform: str) -> list[GateAnswer]:
    """Goldens of this platform that no recipe stands for any more: a gate that lost them is not green."""
    folders = project.golden_dir.glob(f"*/{platform}")
    of_commands = {row.recipe for row in golden.list_all(project.golden_dir) if row.command}
    orphans = sorted({folder.parent.name for folder in folders} - judged - of_commands)
    return [
        GateAnswer(
            recipe=name,
            error=f"there is a golden for {platform}, but no recipe that declares it. "
            f"Hint: restore recipes/{name}, or remove golden/{name}/{platform}",
            exit_code=CannotJudgeError.exit_code,
        )
        for name in orphans
    ]


def gate_code(answers: Sequence[Answered]) -> int:
    """One exit code for several answers: the gravest present; nothing judged is 4, never 0."""
    present = {answer.exit_code if answer.exit_code in _PRECEDENCE else 3 for answer in answers}
    return next((code for code in _PRECEDENCE if code in present), 4)


def must_hold_reports(file: Path, *, project: Project) -> None:
    """Refuse a place for ``gate.json`` from where its reports cannot be named.

    Raises:
        UsageError: The folder of reports is not below the file's own folder.
    """
    if not project.reports_dir.is_relative_to(file.parent.resolve()):
        raise UsageError(
            "the reports are not below the folder of --gate-file",
            where=str(file),
            fix=f"name a file in {project.reports_dir}, or a folder above it",
        )


def earlier_reports(
    answers: Sequence[GateAnswer], *, project: Project, folder: Path
) -> list[tuple[IndexEntry, ...]]:
    """For each answer the earlier reports of the same recipe, seed and platform, named from ``folder``."""
    return [
        tuple(
            report_index.earlier_reports(
                project.reports_dir, answer.report, own=answer.folder, folder=folder.resolve()
            )
        )
        if answer.report is not None and answer.folder is not None
        else ()
        for answer in answers
    ]


def gate_record(answers: Sequence[GateAnswer], *, exit_code: int, folder: Path) -> gate_file.GateRecord:
    """What a gate said, with the paths of its reports from ``folder``."""
    return gate_file.GateRecord(
        exit_code=exit_code, recipes=tuple(_row(answer, folder.resolve()) for answer in answers)
    )


def _row(answer: GateAnswer, folder: Path) -> gate_file.GateRow:
    if answer.report is None or answer.folder is None:
        return gate_file.GateRow(
            recipe=answer.recipe,
            exit_code=answer.exit_code,
            error=answer.error,
            left_out=answer.left_out,
        )
    return gate_file.GateRow(
        recipe=answer.recipe,
        exit_code=answer.exit_code,
        seed=answer.report.seed,
        verdict=answer.report.verdict,
        report=(answer.folder / REPORT).resolve().relative_to(folder).as_posix(),
    )
