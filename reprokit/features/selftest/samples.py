"""Which real runs a selftest takes, and how they are made where there are none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from reprokit import golden, recipes, runs
from reprokit.core import fingerprint
from reprokit.errors import CannotJudgeError, GoldenError, UsageError
from reprokit.features.selftest.planting import Samples
from reprokit.harness.curation.promote import newest_pair
from reprokit.harness.reproduce import reproduce
from reprokit.harness.single_run import run_once
from reprokit.layout import METRICS
from reprokit.project import Project
from reprokit.records import environment_json
from reprokit.request import Request
from reprokit.session import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class AvailableSamples:
    """Samples, and what a person should know about where they come from."""

    samples: Samples
    notes: tuple[str, ...]


def find(name: str | None, *, session: Session, named: Sequence[Path] = ()) -> AvailableSamples:
    """The newest pair of finished runs of a recipe, or the runs named; made when there are none.

    Raises:
        UsageError: The runs named are not two, or of no recipe.
        ReprokitError: There is nothing to take, and nothing could be made.
    """
    notes: list[str] = []
    if named:
        pair = tuple(named)
    else:
        name = name or _newest_recipe(session.project)
        try:
            pair = newest_pair(session.project.runs_dir, name, seed=None, as_it_stands=True)
        except GoldenError:
            notes.append(
                f"there was no finished pair of {name} in {session.project.runs_dir}: it was trained now"
            )
            session.progress.note(notes[0])
            pair = _make(name, session=session)
    return of_runs(pair[:2], project=session.project, notes=notes)


def of_runs(folders: Sequence[Path], *, project: Project, notes: Sequence[str] = ()) -> AvailableSamples:
    """Samples of two run folders: their golden, and a run with another seed, as far as there are."""
    if len(folders) != 2:
        raise UsageError("a selftest takes two run folders", actual=f"{len(folders)}")
    if folders[0].name == folders[1].name or folders[0].resolve() == folders[1].resolve():
        fix = "name two runs: a copy of one agrees with it whatever the program does"
        raise UsageError("one run is named twice", where=str(folders[1]), fix=fix)
    record = runs.read(folders[0], verify=False).record
    recipe, seed = record.recipe, record.seed
    if record.plain_command or not isinstance(recipe, str) or not isinstance(seed, int):
        raise UsageError(
            "a selftest takes runs of a recipe", where=str(folders[0]), fix="name two runs of a recipe"
        )
    platform = fingerprint.platform_of(environment_json.recorded(folders[0]))
    blessed = golden.locate(project.golden_dir, recipe=recipe, platform=platform, seed=seed)
    other = _another_seed(project.runs_dir, recipe, seed)
    told = list(notes)
    if other is None:
        line = f"reprokit run {recipe} --seed {seed + 1}"
        told.append(f"another seed's file is not planted: `{line}` makes one")
    samples = Samples(
        recipe=recipe,
        runs=(folders[0], folders[1]),
        golden=blessed if blessed.is_dir() else None,
        other_seed=other / METRICS if other else None,
    )
    return AvailableSamples(samples=samples, notes=tuple(told))


def _make(name: str, *, session: Session) -> tuple[Path, ...]:
    report, _ = reproduce(name, Request(command=f"reprokit verify --selftest-only {name}"), session=session)
    folders = tuple(Path(run) for run in report.runs)
    if not all(runs.read(folder, verify=False).complete for folder in folders):
        raise CannotJudgeError("the runs for the selftest did not finish", actual=report.sentence)
    run_once(name, Request(seed=report.seed + 1), session=session)
    return folders


def _newest_recipe(project: Project) -> str:
    known = recipes.list_names(project.recipes_dir)
    if not known:
        raise UsageError(
            "there is no recipe",
            where=str(project.recipes_dir),
            fix="make a recipe: reprokit init -- python train.py",
        )
    used = [folder.parent.name for folder in runs.list_all(project.runs_dir)]
    return next((name for name in reversed(used) if name in known), known[0])


def _another_seed(runs_dir: Path, recipe: str, seed: int) -> Path | None:
    """The newest finished run of the recipe, as it stands, with another seed."""
    for folder in reversed(runs.list_all(runs_dir, recipe=recipe)):
        stored = runs.read(folder, verify=False)
        other = stored.record.seed != seed and not stored.record.modified
        if stored.complete and other and (folder / METRICS).is_file():
            return folder
    return None
