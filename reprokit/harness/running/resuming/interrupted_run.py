"""Killing a training on its way and resuming it, as part of a reproduction."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path

from reprokit import checkpoints, runs
from reprokit.core.records import digest
from reprokit.errors import CannotJudgeError, CheckpointError, UsageError
from reprokit.harness.running.resuming.counted_program import read_places
from reprokit.harness.running.resuming.resume_point import choose
from reprokit.harness.running.resuming.resume_program import left_by
from reprokit.harness.running.resuming.stop_places import places_asked, steps_asked
from reprokit.harness.running.run_kinds import (
    CountedCommand,
    KilledCommand,
    ResumedRun,
    StoppedCommand,
    StoppedRun,
    StopPlace,
)
from reprokit.harness.running.start_runs import run_recipe
from reprokit.harness.running.varying.apply_variations import pinned_cores
from reprokit.layout import METRICS
from reprokit.recipes import Program, Recipe
from reprokit.request import Request
from reprokit.session import Session


def interrupt(recipe: Recipe, request: Request, *, whole: Path, session: Session) -> tuple[Path, Path | None]:
    """Train once more, kill it on its way, and resume it from its last whole checkpoint.

    Args:
        recipe: As it was trained.
        request: Its seed; where the run is killed is drawn from it and the recipe.
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
    place = place_of(whole, drawn_from=drawn_from)
    session.progress.note(f"one more training: it is killed at step {place}, and resumed")
    return _interrupt_at(place, recipe, request, whole=whole, session=session)


def interrupt_at_places(
    recipe: Recipe, request: Request, asked: int | str, *, whole: Path, session: Session
) -> tuple[tuple[Path, ...], ...]:
    """Kill and resume a run at each of several places.

    Args:
        recipe: As it was trained.
        request: Its seed.
        asked: Where: a step, ``every``, ``middle`` or ``5,17``.
        whole: The folder of a finished run of the same.
        session: The project, and the progress that is shown.

    Returns:
        Of each place the folder of the stopped run, and of the resumed one where there was anything to
        resume from.

    Raises:
        UsageError: A place lies past the end, or the recipe saves no checkpoint.
        CannotJudgeError: The places of a program cannot be counted.
    """
    if recipe.program is not None:
        places = _places_of(recipe, request, asked, whole=whole, session=session)
        cores = pinned_cores(whole)
        kinds = (KilledCommand(place=place, asked=str(asked), cores=cores) for place in places)
        return tuple(_kill_at(kind, recipe, recipe.program, request, session=session) for kind in kinds)
    first, _ = _first_and_last(whole)
    with (whole / METRICS).open("rb") as lines:
        steps = [json.loads(line)["step"] for line in lines]
    found = steps_asked(asked, steps, after=first)
    typed = "" if isinstance(asked, int) else asked
    pairs = []
    for number, step in enumerate(found, start=1):
        session.progress.note(
            f"place {number} of {len(found)}: a training killed at step {step}, and resumed"
        )
        pair = _interrupt_at(step, recipe, request, whole=whole, session=session, asked=typed)
        pairs.append(tuple(filter(None, pair)))
    return tuple(pairs)


def _interrupt_at(
    step: int, recipe: Recipe, request: Request, *, whole: Path, session: Session, asked: str = ""
) -> tuple[Path, Path | None]:
    """Train once more, killed at this step, and resume it where it left something whole."""
    cores = pinned_cores(whole)
    kind = StoppedRun(stop_at=step, asked=asked, cores=cores)
    (stopped,) = run_recipe(recipe, request, kind, session=session)
    try:
        point = choose(str(stopped), project=session.project).point
    except CheckpointError as error:
        session.progress.note(f"not resumed: {error.told()}")
        return stopped, None
    (resumed,) = run_recipe(recipe, request, ResumedRun(point=point, cores=cores), session=session)
    return stopped, resumed


def _places_of(
    recipe: Recipe, request: Request, asked: int | str, *, whole: Path, session: Session
) -> tuple[StopPlace, ...]:
    """The places of a program, counted in one more whole run, whose numbers must be the same."""
    session.progress.note("one more run, whose updates and checkpoints are counted")
    (folder,) = run_recipe(recipe, request, CountedCommand(cores=pinned_cores(whole)), session=session)
    record = runs.read(folder, verify=False).record
    if not record.completed:
        raise CannotJudgeError(
            "the run whose updates are counted did not finish", where=str(folder), actual=record.message
        )
    ours, theirs = (run / METRICS for run in (whole, folder))
    if not theirs.is_file() or ours.read_bytes() != theirs.read_bytes():
        raise CannotJudgeError(
            "the run whose updates were counted has other numbers than the first one",
            where=str(folder),
            fix=f"reprokit diff {whole} {folder}",
        )
    return places_asked(asked, read_places(folder))


def _kill_at(
    kind: KilledCommand, recipe: Recipe, program: Program, request: Request, *, session: Session
) -> tuple[Path, ...]:
    """Run the program once more, killed at the place, and resume it from what that run wrote last."""
    session.progress.note(f"one more run, killed {kind.place.told}")
    (stopped,) = run_recipe(recipe, request, kind, session=session)
    point = left_by(stopped, program, is_killed=True) if kind.place.has_checkpoint else None
    if point is None:
        return (stopped,)
    (resumed,) = run_recipe(recipe, request, replace(point, cores=kind.cores), session=session)
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


def place_of(whole: Path, *, drawn_from: str) -> int:
    """A step at which a training is killed: one after its first checkpoint, up to its last.

    Args:
        whole: The folder of a finished run of the same.
        drawn_from: What the place follows from.

    Raises:
        UsageError: No checkpoint would be there.
    """
    first, last = _first_and_last(whole)
    return random.Random(drawn_from).randint(first + 1, last)  # noqa: S311 - a place, no secret


def _first_and_last(whole: Path) -> tuple[int, int]:
    """The steps of a run's first and last checkpoint."""
    folder = checkpoints.folder_of(whole)
    written = [*checkpoints.listed(folder), *checkpoints.removed(folder).values()]
    steps = [one.step for one in written if one.step is not None]
    first, last = (min(steps), max(steps)) if steps else (0, 0)
    if first == last:
        told = "no checkpoint" if not steps else f"its only checkpoint at step {first}"
        fix = "set logging.save_interval to half of training.total_timesteps or less"
        raise UsageError(f"a run of this recipe writes {told}: there is nothing to resume from", fix=fix)
    return first, last
