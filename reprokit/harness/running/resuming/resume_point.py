"""From which checkpoint a run is resumed, and whether it may be: same recipe, seed and settings.

A training that continued with other settings would be another training: it is refused before anything starts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from reprokit import checkpoints, recipes, runs
from reprokit.core import inputs
from reprokit.core.evidence import fact
from reprokit.core.records import Outcome
from reprokit.core.run_record import RunRecord
from reprokit.errors import CheckpointError, ImageError, RecipeError, UsageError
from reprokit.harness.judging.differences import what_changed
from reprokit.harness.running.numbers import code_digests
from reprokit.harness.running.run_kinds import ResumePoint
from reprokit.images import locks, packages
from reprokit.layout import CHECKPOINTS, FINAL_MODEL, MANIFEST, MARKER, RECORD
from reprokit.project import Project
from reprokit.recipes import NO_VARIANT, Recipe
from reprokit.records import run_json
from reprokit.request import Request

_RECORDED_SETTINGS = ("numerics", "device", "variant", "data")


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """A checkpoint to continue from, and the run that wrote it.

    Attributes:
        point: The checkpoint.
        record: ``run.json`` of the run.
        skipped: Names of later checkpoints that are not whole.
    """

    point: ResumePoint
    record: RunRecord
    skipped: tuple[str, ...] = ()


def choose(reference: str, *, project: Project) -> Chosen:
    """The checkpoint that a person means: a file, or the last whole one of a run.

    Args:
        reference: A checkpoint's path, a run folder's path, or a run id or its unambiguous beginning.
        project: Where runs live.

    Raises:
        CheckpointError: It is not whole, is refused, or no run can be resumed from it.
        ReportError: There is no such run.
        UsageError: The run is finished.
    """
    named = Path(reference) if reference.endswith(".pt") else None
    folder = _run_of(named) if named else runs.find(project.runs_dir, reference)
    record = run_json.read(folder)
    runs.must_not_be_stopped(folder, what="no run can be resumed from it")
    there = checkpoints.listed(written_in(folder))
    _must_be_as_sealed(folder)
    found = _named(named, there) if named else checkpoints.last_whole(written_in(folder))
    _must_not_be_finished(folder, record, found if named else None)
    later = [one for one in there if (one.step or 0) > (found.step or 0)]
    state = checkpoints.read(found.path)
    lacking = checkpoints.problems_of(state, num_envs=num_envs_of(record), step=found.step)
    if lacking:
        fix = "resume from another checkpoint, or start a new run"
        raise CheckpointError(f"no run can be resumed from it: {lacking[0]}", where=str(found.path), fix=fix)
    point = ResumePoint(
        path=found.path.resolve(),
        step=found.step or 0,
        sha256=found.sha256,
        run=f"{folder.resolve().parent.name}/{folder.resolve().name}",
        attempt=record.attempt or 1,
        lock_digest=record.digests.get("lock") or "",
    )
    skipped = () if named else tuple(one.path.name for one in later)
    return Chosen(point=point, record=record, skipped=skipped)


def fit(chosen: Chosen, name: str, request: Request, *, project: Project) -> tuple[Recipe, Request]:
    """Recipe and request that continue as the run began; its seed and settings hold where none are asked for.

    Raises:
        UsageError: Another recipe, seed or setting is asked for, or what else the numbers follow from
            (trainer, runtime, numerics, data, lock) is no longer what it was; named.
    """
    record, where = chosen.record, str(chosen.point.path)
    if (began_as := record.recipe) != name:
        raise UsageError(
            "the checkpoint belongs to another recipe", where=where, expected=name, actual=str(began_as)
        )
    seed = record.seed
    if request.seed not in {None, seed}:
        raise UsageError(
            "the checkpoint belongs to another seed",
            where=where,
            expected=str(request.seed),
            actual=str(seed),
            fix="leave out --seed",
        )
    asked = (*recipes.asked_of(record), *request.overrides)
    overrides = tuple({one.partition("=")[0]: one for one in asked}.values())
    recipe = recipes.load(name, recipes_dir=project.recipes_dir, overrides=overrides)
    then, now = record.training_config, recipe.training_config
    differing = what_changed.settings(then, now, recipe=name, lines=recipe.lines)
    if differing or dict(then) != dict(now):
        raise UsageError(
            f"these settings changed, so the run cannot be resumed: {', '.join(differing)}",
            where=where,
            fix="put the settings back, or start a new run without --resume-from",
        )
    if changed := changed_inputs(record, recipe, project=project):
        raise UsageError(
            f"these inputs changed, so the run cannot be resumed: {', '.join(changed)}",
            where=where,
            fix="put it back (the run keeps its own recipe and trainer in source/), or start a new run",
        )
    return recipe, replace(request, seed=seed, overrides=overrides)


def changed_inputs(record: RunRecord, recipe: Recipe, *, project: Project) -> list[str]:
    """What a run's numbers followed from, next to its settings, and is another today: in words.

    Args:
        record: Its ``run.json``.
        recipe: The recipe as it is today.
        project: Where the locks are.
    """
    said = recipe.as_data()
    told = [
        f"{what_changed.recipe_line(recipe.name, name, recipe.lines)} {name}"
        + (f" {then} → {said.get(name)}" if isinstance(then, str) and isinstance(said.get(name), str) else "")
        for name in _RECORDED_SETTINGS
        if recipes.data_identity(then := record.recipe_data.get(name))
        != recipes.data_identity(said.get(name))
    ]
    unpinned = recipe.variant == NO_VARIANT  # what this Python holds is recorded once the run has begun
    lock = record.digests.get("lock") if unpinned else _lock_today(record, project)
    now = {**code_digests(recipe), "lock": lock}
    differing = inputs.changed(record.digests, now)
    # The digests of recipe and configuration hold others: named next to these, they tell nothing.
    found = [*told, *(inputs.INPUTS[name] for name in differing if name not in {"config", "recipe"})]
    return found or [inputs.INPUTS[name] for name in differing]


def _lock_today(record: RunRecord, project: Project) -> str | None:
    """The digest of the lock that a run's environment was made from, as it is now; None where it is gone."""
    try:
        variant = locks.read_lock(project.root).variant(str(record.image and record.image.variant))
        return packages.digest_of(variant.packages_path)
    except (ImageError, RecipeError):
        return None


def written_in(folder: Path) -> Path:
    """Where the checkpoints of a run lie.

    Raises:
        CheckpointError: It wrote none.
    """
    there = checkpoints.folder_of(folder)
    if runs.read(folder, verify=False).record.program:
        what = "the checkpoints of an unmodified program are known to the program alone"
        fix = "its files lie under output/; `resume` in the recipe says how it is resumed"
        raise CheckpointError(what, where=str(folder), fix=fix)
    if not (there / MANIFEST).is_file() and not any(there.glob("*.pt")):
        ended = runs.read(folder, verify=False).record.outcome == Outcome.COMPLETED
        what = "the run wrote no checkpoint" if ended else "it was stopped before its first checkpoint"
        fix = "start a new run; logging.save_interval says how often a checkpoint is written"
        raise CheckpointError(f"{what}: there is nothing to resume from", where=str(folder), fix=fix)
    return there


def num_envs_of(record: RunRecord) -> int | None:
    """In how many environments a run trained, as ``run.json`` has it; None where it does not say."""
    section = record.training_config.get("environment")
    number = section.get("num_envs") if isinstance(section, Mapping) else None
    return number if isinstance(number, int) and not isinstance(number, bool) else None


def run_above(checkpoint: Path) -> Path | None:
    """The run folder that a checkpoint lies in, or None."""
    above = checkpoint.absolute().parent.parent
    return next((one for one in (above, above.parent) if (one / RECORD).is_file()), None)


def _run_of(checkpoint: Path) -> Path:
    if (folder := run_above(checkpoint)) is not None:
        return folder
    what = "the checkpoint is not in a run folder, so it is not known which training it belongs to"
    raise CheckpointError(what, where=str(checkpoint), fix="name a run, or a checkpoint within its folder")


def _must_be_as_sealed(folder: Path) -> None:
    """A list of checkpoints that is not the one that COMPLETE knows cannot vouch for any of them."""
    touched = runs.touched(folder, below=CHECKPOINTS)
    for name in (MARKER, f"{CHECKPOINTS}/{MANIFEST}"):
        if name in touched:
            fix = f"put {Path(name).name} back, or start a new run"
            what = f"its checkpoints cannot be trusted: {touched[name]}"
            raise CheckpointError(what, where=str(folder), fix=fix)


def _must_not_be_finished(folder: Path, record: RunRecord, named: checkpoints.Listed | None) -> None:
    if not (folder / MARKER).is_file():
        return
    total = fact(record.training_config, "training.total_timesteps")
    if named is None or (isinstance(total, int) and (named.step or 0) >= total):
        raise UsageError(
            "the run is finished: nothing is left to do",
            where=str(folder),
            fix="name an earlier checkpoint of it to train its end once more, or start a new run",
        )


def _named(checkpoint: Path, listed: Sequence[checkpoints.Listed]) -> checkpoints.Listed:
    there = {one.path.name: one for one in listed}
    if checkpoint.name == FINAL_MODEL:
        what = "the final model holds parameters only: no run can be resumed from it"
        raise CheckpointError(what, where=str(checkpoint), fix="name a checkpoint_<step>.pt")
    found = there.get(checkpoint.name)
    problem = found.problem if found else "it is not there"
    if found is None or problem or found.step is None:
        raise CheckpointError(
            f"no run can be resumed from it: {problem or 'it has no step'}",
            where=str(checkpoint),
            fix="name the run alone, to resume from its last whole checkpoint",
        )
    return found
