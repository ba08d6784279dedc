"""What an unmodified program is resumed from: the files that an earlier run left, and its own arguments."""

from __future__ import annotations

from pathlib import Path

from reprokit import runs, workspace
from reprokit.errors import CheckpointError, RecipeError, UsageError
from reprokit.harness.running.resuming.resume_point import Chosen, fit
from reprokit.harness.running.resuming.resume_words import PLACEHOLDER, chosen_in
from reprokit.harness.running.run_kinds import ResumedCommand, ResumePoint
from reprokit.layout import OUTPUT
from reprokit.project import Project
from reprokit.recipes import Program, Recipe
from reprokit.records import run_json
from reprokit.request import Request


def must_say_how(recipe: Recipe) -> None:
    """Refuse to resume an unmodified program where no one says how that is done.

    Raises:
        RecipeError: The recipe does not say it.
    """
    if recipe.program is None:
        return
    if recipe.program.resume_args is None:
        raise RecipeError(
            f"{recipe.name} does not say how its program is resumed",
            where=recipe.where("resume"),
            expected=f'`resume: {{stop_args: [--steps, "100"], resume_args: [--resume, "{PLACEHOLDER}"]}}`',
            fix="add it, or do not resume",
        )


def left_by(folder: Path, program: Program, *, is_killed: bool = False) -> ResumedCommand | None:
    """How a program is resumed from what a run of it left; None where no file fits the recipe's pattern.

    Of a run that was killed the last file is taken, and the resumed one is counted too.
    """
    left, record = folder / OUTPUT, runs.read(folder, verify=False).record
    chosen = (chosen_in(word, left, last=is_killed) for word in program.resume_args or ())
    words = tuple(filter(None, chosen))
    if len(words) != len(program.resume_args or ()):
        return None
    named = [left / word.partition(PLACEHOLDER)[2].lstrip("/") for word in words if PLACEHOLDER in word]
    file = next((path for path in named if path.is_file()), None)
    return ResumedCommand(
        words=words,
        left=left,
        run=f"{folder.resolve().parent.name}/{folder.resolve().name}",
        checkpoint=file.relative_to(left).as_posix() if file else "",
        sha256=workspace.sha256_of(file) if file else "",
        attempt=record.attempt or 1,
        is_counted=is_killed,
    )


def choose_left(
    folder: Path, name: str, request: Request, *, project: Project
) -> tuple[Recipe, Request, ResumedCommand]:
    """Recipe, request and arguments that resume a run of an unmodified program that a person names.

    Raises:
        UsageError: It is finished, or another recipe, seed, setting or program than the run's is asked for.
        RecipeError: The recipe does not say how its program is resumed.
        CheckpointError: The run left no file that the recipe names.
    """
    stored = runs.read(folder, verify=False)
    runs.must_not_be_stopped(folder, what="no run can be resumed from it")
    if stored.complete and stored.record.stopped_by is None:
        raise UsageError(
            "the run is finished: nothing is left to do",
            where=str(folder),
            fix="name a run that was stopped, or start a new run",
        )
    point = ResumePoint(
        path=folder,
        step=0,
        sha256="",
        run=f"{folder.parent.name}/{folder.name}",
        attempt=1,
        lock_digest=stored.record.digests.get("lock") or "",
    )
    recipe, request = fit(Chosen(point=point, record=run_json.read(folder)), name, request, project=project)
    must_say_how(recipe)
    found = left_by(folder, recipe.program) if recipe.program else None
    if found is None:
        raise CheckpointError(
            "the run left no file that `resume.resume_args` of the recipe names",
            where=str(folder / OUTPUT),
            fix="list that folder, and correct the recipe, or start a new run",
        )
    return recipe, request, found
