"""One run of a recipe or a command, and no judgement: nothing that judges is loaded for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from reprokit.harness.running.start_command import run_command
from reprokit.project import Project
from reprokit.request import Request
from reprokit.session import Session


def run_once(name: str, request: Request, *, session: Session) -> Path:
    """Run a recipe once, or continue with a run of it, with no judgement.

    Returns:
        The run folder.

    Raises:
        UsageError: ``resume_from`` names nothing that this run could continue from.
    """
    if request.resume_from is not None:
        return _go_on(name, request, session=session)
    from reprokit import recipes
    from reprokit.harness.judging.left_out_metrics import tell_idle_patterns
    from reprokit.harness.running.environments.preflight import tell_false_claims
    from reprokit.harness.running.run_kinds import WholeRun
    from reprokit.harness.running.sinks import close_sinks
    from reprokit.harness.running.start_runs import run_recipe

    recipe = recipes.load(name, recipes_dir=session.project.recipes_dir, overrides=request.overrides)
    tell_false_claims(recipe, session=session)
    folders = run_recipe(recipe, request, WholeRun(), session=session)
    tell_idle_patterns(recipe, folders, progress=session.progress)
    close_sinks(folders, session=session)
    return folders[0]


def _go_on(name: str, request: Request, *, session: Session) -> Path:
    from reprokit.harness.running.resuming.resume_point import choose, fit
    from reprokit.harness.running.resuming.resume_program import choose_left
    from reprokit.harness.running.run_kinds import ResumedRun
    from reprokit.harness.running.start_command import close_killed_runs
    from reprokit.harness.running.start_runs import run_recipe

    close_killed_runs(
        session.project, progress=session.progress
    )  # before the checkpoint is chosen: closing a run moves its files
    folder = _program_run(str(request.resume_from), session.project)
    if folder is not None:
        recipe, request, left = choose_left(folder, name, request, project=session.project)
        session.progress.note(f"resumes from {left.checkpoint or 'the folder'} of {left.run}")
        return run_recipe(recipe, request, left, session=session)[0]
    chosen = choose(str(request.resume_from), project=session.project)
    recipe, request = fit(chosen, name, request, project=session.project)
    for skipped in chosen.skipped:
        session.progress.note(f"{skipped} is not whole: not used")
    session.progress.note(
        f"resumes from {chosen.point.path.name} of {chosen.point.run}, step {chosen.point.step}"
    )
    kind = ResumedRun(point=chosen.point)
    return run_recipe(recipe, request, kind, session=session)[0]


def _program_run(reference: str, project: Project) -> Path | None:
    """The folder of an unmodified program's run, where a person names one."""
    from reprokit import runs

    if reference.endswith(".pt"):
        return None
    folder = runs.find(project.runs_dir, reference)
    return folder if runs.read(folder, verify=False).record.program else None


def run_command_once(command: Sequence[str], request: Request, *, session: Session) -> Path:
    """Run a plain command once, with no judgement."""
    return run_command(command, replace(request, repeats=1), session=session)[0]
