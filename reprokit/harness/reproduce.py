"""The main job, from a name to a report.

This module knows the order: recipe, environment, plan, runs, evidence, report. It refuses to
know how any of them works.

    >>> report, folder = reproduce("cartpole_baseline", Request(), project=project, progress=progress)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from reprokit import recipes, reports, runs
from reprokit.core.checklist import Report
from reprokit.harness.answer import report_of
from reprokit.harness.evidence import gather
from reprokit.harness.execute import Progress
from reprokit.harness.plan import shell_line
from reprokit.harness.project import Project
from reprokit.harness.realise import run_command, run_recipe
from reprokit.harness.request import Phases, Request, now, stamp
from reprokit.recipes import Recipe


def reproduce(name: str, request: Request, *, project: Project, progress: Progress) -> tuple[Report, Path]:
    """Run a recipe ``request.repeats`` times and judge.

    Returns:
        The report, and the folder it was written to.

    Raises:
        ReprokitError: Nothing could be run at all, or the recipe or golden is unusable.
    """
    phases = Phases(progress)
    recipe = recipes.load(name, recipes_dir=project.recipes_dir, overrides=request.overrides)
    folders = run_recipe(recipe, request, project=project, phases=phases)
    return _answer(recipe, folders, request, project=project, phases=phases)


def run_once(name: str, request: Request, *, project: Project, progress: Progress) -> Path:
    """Run a recipe once, with no judgement.

    Returns:
        The run folder.
    """
    recipe = recipes.load(name, recipes_dir=project.recipes_dir, overrides=request.overrides)
    once = replace(request, repeats=1)
    return run_recipe(recipe, once, project=project, phases=Phases(progress))[0]


def reproduce_command(
    command: Sequence[str], request: Request, *, project: Project, progress: Progress
) -> tuple[Report, Path]:
    """Run a plain command twice and judge: one after the other, nothing pinned, nothing set."""
    phases = Phases(progress)
    folders = run_command(command, request, project=project, phases=phases)
    return _answer(None, folders, request, project=project, phases=phases)


def run_command_once(
    command: Sequence[str], request: Request, *, project: Project, progress: Progress
) -> Path:
    """Run a plain command once, with no judgement."""
    return run_command(command, replace(request, repeats=1), project=project, phases=Phases(progress))[0]


def judge_again(folders: Sequence[Path], request: Request, *, project: Project) -> Report:
    """The report that follows from run folders alone: no engine, nothing run, nothing written."""
    recipe = _recipe_of(folders, project)
    return _judge(recipe, folders, request, project=project, phases={})


def _answer(
    recipe: Recipe | None,
    folders: Sequence[Path],
    request: Request,
    *,
    project: Project,
    phases: Phases,
) -> tuple[Report, Path]:
    with phases.of("judge"):
        report = _judge(recipe, folders, request, project=project, phases=phases.seconds)
        folder = project.reports_dir / folders[0].parent.name / stamp()
        reports.render_all(report, folder)
    return report, folder


def _judge(
    recipe: Recipe | None,
    folders: Sequence[Path],
    request: Request,
    *,
    project: Project,
    phases: Mapping[str, float],
) -> Report:
    rerun = _rerun(runs.read(folders[0], verify=False).record, ignore=request.ignore)
    evidence = gather(
        recipe, folders, golden_dir=project.golden_dir, seed=request.seed, rerun=rerun, ignore=request.ignore,
        strict=request.strict,
    )  # fmt: skip
    file = recipe.file if recipe else None
    inside = file is not None and file.is_relative_to(project.root)
    return report_of(
        evidence, folders=folders, command=request.command, rerun=rerun, now=now(), phases=phases,
        recipe_file=str(file.relative_to(project.root) if inside else file) if file else None,
        recipe_lines=recipe.lines if recipe else None,
    )  # fmt: skip


def _recipe_of(folders: Sequence[Path], project: Project) -> Recipe | None:
    record = runs.read(folders[0], verify=False).record
    if record.get("plain_command"):
        return None
    snapshot = folders[0] / "source"
    overrides = tuple(record.get("modified") or ())
    if snapshot.is_dir():
        return recipes.load(str(record.get("recipe")), recipes_dir=snapshot, overrides=overrides)
    return recipes.load(str(record.get("recipe")), recipes_dir=project.recipes_dir, overrides=overrides)


def _rerun(record: Mapping[str, Any], *, ignore: Sequence[str]) -> str:
    seed, plain = record.get("seed"), record.get("plain_command")
    if plain:
        left_out = [word for pattern in ignore for word in ("--ignore-metric", pattern)]
        return shell_line(["reprokit", "reproduce", "--seed", str(seed), *left_out, "--", *plain])
    return f"make reproduce RECIPE={record.get('recipe')} SEED={seed}"
