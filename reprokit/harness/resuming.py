"""From which checkpoint a run goes on, and whether it may: the same recipe, seed and settings.

This module knows run folders and their checkpoints; it refuses to run anything. A training that goes on with
other settings than it began with is another training, and is refused here, before anything starts.

    >>> chosen = choose("20261121T101500Z-3fa9-seed42-1", project=project)
    >>> chosen.point.step
    40960
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from reprokit import checkpoints, recipes, runs
from reprokit.errors import CheckpointError, UsageError
from reprokit.harness import changes
from reprokit.harness.part import ResumePoint
from reprokit.harness.project import Project
from reprokit.harness.request import Request
from reprokit.recipes import Recipe

FINAL = "final_model.pt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """A checkpoint to go on from, and the run that wrote it.

    Attributes:
        point: The checkpoint.
        record: ``run.json`` of the run.
        skipped: Names of later checkpoints that are not whole.
    """

    point: ResumePoint
    record: Mapping[str, Any]
    skipped: tuple[str, ...] = ()


def choose(reference: str, *, project: Project) -> Chosen:
    """The checkpoint that a person means: a file, or the last whole one of a run.

    Args:
        reference: A checkpoint's path, a run folder's path, or a run id or its unambiguous beginning.
        project: Where runs live.

    Raises:
        CheckpointError: It is not whole, is refused, or nothing can go on from it.
        ReportError: There is no such run.
    """
    named = Path(reference) if reference.endswith(".pt") else None
    folder = _run_of(named) if named else runs.find(project.runs_dir, reference)
    record = runs.read(folder, verify=False).record
    found = _named(named, folder) if named else checkpoints.last_whole(checkpoints.folder_of(folder))
    later = [
        one
        for one in checkpoints.listed(checkpoints.folder_of(folder))
        if (one.step or 0) > (found.step or 0)
    ]
    lacking = checkpoints.problems_of(checkpoints.read(found.path), num_envs=num_envs_of(record))
    if lacking:
        fix = "go on from another checkpoint, or start the training anew"
        raise CheckpointError(f"nothing can go on from it: {lacking[0]}", where=str(found.path), fix=fix)
    attempt = record.get("attempt")
    point = ResumePoint(
        path=found.path.resolve(), step=found.step or 0, sha256=found.sha256,
        run=f"{folder.resolve().parent.name}/{folder.resolve().name}",
        attempt=attempt if isinstance(attempt, int) else 1,
    )  # fmt: skip
    skipped = () if named else tuple(one.path.name for one in later)
    return Chosen(point=point, record=record, skipped=skipped)


def fit(chosen: Chosen, name: str, request: Request, *, project: Project) -> tuple[Recipe, Request]:
    """Recipe and request that go on as the run began; its seed and settings hold where none are asked for.

    Raises:
        UsageError: Another recipe, seed or setting is asked for; named.
    """
    record, where = chosen.record, str(chosen.point.path)
    if (began_as := record.get("recipe")) != name:
        raise UsageError(
            "the checkpoint is of another recipe", where=where, expected=name, actual=str(began_as)
        )
    seed = record.get("seed")
    if request.seed not in {None, seed}:
        raise UsageError(
            "the checkpoint is of another seed", where=where, expected=str(request.seed), actual=str(seed),
            fix="leave out --seed",
        )  # fmt: skip
    asked = (*map(str, record.get("modified") or ()), *request.overrides)
    overrides = tuple({one.partition("=")[0]: one for one in asked}.values())
    recipe = recipes.load(name, recipes_dir=project.recipes_dir, overrides=overrides)
    then, now = record.get("training_config") or {}, recipe.training_config
    differing = changes.settings(then, now, recipe=name, lines=recipe.lines)
    if differing or dict(then) != dict(now):
        raise UsageError(
            f"a training cannot go on with other settings than it began with: {', '.join(differing)}",
            where=where,
            fix="put the settings back, or start a new run without --resume-from",
        )
    return recipe, replace(request, seed=seed, overrides=overrides)


def num_envs_of(record: Mapping[str, Any]) -> int | None:
    """In how many environments a run trained, as ``run.json`` has it; None where it does not say."""
    config = record.get("training_config")
    section = config.get("environment") if isinstance(config, Mapping) else None
    number = section.get("num_envs") if isinstance(section, Mapping) else None
    return number if isinstance(number, int) and not isinstance(number, bool) else None


def _run_of(checkpoint: Path) -> Path:
    above = checkpoint.absolute().parent.parent
    for folder in (above, above.parent):
        if (folder / runs.RECORD).is_file():
            return folder
    what = "the checkpoint lies in no run folder, so nobody knows what training it is of"
    raise CheckpointError(what, where=str(checkpoint), fix="name a run, or a checkpoint within its folder")


def _named(checkpoint: Path, folder: Path) -> checkpoints.Listed:
    there = {one.path.name: one for one in checkpoints.listed(checkpoints.folder_of(folder))}
    if checkpoint.name == FINAL:
        what = "the final model holds parameters only: nothing can go on from it"
        raise CheckpointError(what, where=str(checkpoint), fix="name a checkpoint_<step>.pt")
    found = there.get(checkpoint.name)
    problem = found.problem if found else "it is not there"
    if found is None or problem or found.step is None:
        raise CheckpointError(
            f"nothing can go on from it: {problem or 'it has no step'}", where=str(checkpoint),
            fix="name the run alone, to go on from its last whole checkpoint",
        )  # fmt: skip
    return found
