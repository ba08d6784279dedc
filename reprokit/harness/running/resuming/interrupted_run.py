"""Killing a training on its way and resuming it, as part of a reproduction."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

from reprokit import checkpoints, runs
from reprokit.core.records import digest
from reprokit.errors import CheckpointError, UsageError
from reprokit.harness.running.resuming.resume_point import choose
from reprokit.harness.running.resuming.resume_program import left_by
from reprokit.harness.running.run_kinds import ResumedRun, StoppedCommand, StoppedRun
from reprokit.harness.running.start_runs import run_recipe
from reprokit.harness.running.varying.apply_variations import pinned_cores
from reprokit.recipes import Program, Recipe
from reprokit.request import Request
from reprokit.session import Session


def interrupt(recipe: Recipe, request: Request, *, whole: Path, session: Session) -> tuple[Path, Path | None]:
    """Train once more, kill it on its way, and resume it from its last whole checkpoint.

    Args:
        recipe: As it was trained.
        request: ``stop_at`` says where; drawn from recipe and seed when None.
        whole: The folder of a finished run of the same.
        session: The project, and the progress that is shown.

    Returns:
        The folder of the stopped run, and that of the resumed one; None where there was nothing
        to resume from.

    Raises:
        UsageError: The recipe saves no checkpoint before the place.
    """
    if recipe.program is not None:
        return _interrupt_program(recipe, recipe.program, request, whole=whole, session=session)
    drawn_from = digest([recipe.name, request.seed_of(recipe.seeds)])
    place = place_of(whole, stop_at=request.stop_at, drawn_from=drawn_from)
    session.progress.note(f"one more training: it is killed at step {place}, and resumed")
    cores = pinned_cores(whole)
    (stopped,) = run_recipe(recipe, request, StoppedRun(stop_at=place, cores=cores), session=session)
    try:
        point = choose(str(stopped), project=session.project).point
    except CheckpointError as error:
        session.progress.note(f"not resumed: {error.told()}")
        return stopped, None
    (resumed,) = run_recipe(recipe, request, ResumedRun(point=point, cores=cores), session=session)
    return stopped, resumed


def _interrupt_program(
    recipe: Recipe, program: Program, request: Request, *, whole: Path, session: Session
) -> tuple[Path, Path | None]:
    """Run the program with its arguments to stop, where it has any, and resume it from what that run left."""
    stopped, cores = whole, pinned_cores(whole)
    if program.stop_args:
        session.progress.note(f"one more run, stopped by {' '.join(program.stop_args)}, and resumed")
        kind = StoppedCommand(words=program.stop_args, cores=cores)
        (stopped,) = run_recipe(recipe, request, kind, session=session)
    else:
        session.progress.note("one more run, resumed from what the first run left along the way")
    point = left_by(stopped, program)
    if point is None or not runs.read(stopped, verify=False).complete:
        return stopped, None
    (resumed,) = run_recipe(recipe, request, replace(point, cores=cores), session=session)
    return stopped, resumed


def place_of(whole: Path, *, stop_at: int | None, drawn_from: str) -> int:
    """The step at which a training is killed: one after its first checkpoint, up to its last.

    Args:
        whole: The folder of a finished run of the same.
        stop_at: The place that was asked for, or None.
        drawn_from: What the place follows from where none was asked for.

    Raises:
        UsageError: No checkpoint would be there.
    """
    folder = checkpoints.folder_of(whole)
    written = [*checkpoints.listed(folder), *checkpoints.removed(folder).values()]
    steps = [one.step for one in written if one.step is not None]
    first, last = (min(steps), max(steps)) if steps else (0, 0)
    if first == last:
        told = "no checkpoint" if not steps else f"its only checkpoint at step {first}"
        fix = "set logging.save_interval to half of training.total_timesteps or less"
        raise UsageError(f"a run of this recipe writes {told}: there is nothing to resume from", fix=fix)
    if stop_at is None:
        return random.Random(drawn_from).randint(first + 1, last)  # noqa: S311 - a place, no secret
    if not first < stop_at <= last:
        raise UsageError(
            "a training cannot be killed there and resumed",
            actual=f"step {stop_at}",
            expected=f"a step after the first checkpoint and up to the last, {first + 1} to {last}",
        )
    return stop_at
