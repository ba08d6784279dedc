"""From a plain command to run folders, and what runs of recipes share with it.

Nothing is loaded here that only recipes need: a run of a moment would be waiting for that.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reprokit import capture, extras, runs, workspace
from reprokit.core.records import Outcome, RunResult, RunSpec
from reprokit.errors import CannotRunError, EngineError
from reprokit.execution.engine_socket import remove_orphans
from reprokit.execution.local import LocalBackend
from reprokit.execution.placeholders import unused
from reprokit.harness.running.clock import now, stamp
from reprokit.harness.running.engine import Engine, with_shared_places
from reprokit.harness.running.plan import RunPlan, plan_command
from reprokit.harness.running.programs.tree_changes import Tree, work_tree_of
from reprokit.layout import OUTPUT
from reprokit.project import Project
from reprokit.request import Request
from reprokit.session import Progress, Session

if TYPE_CHECKING:
    from reprokit.core.environment_record import MachineFacts


#: From a run and its number, from 1: the run as it is disturbed, and further keys of its ``run.json``.
Disturb = Callable[[RunSpec, int], tuple[RunSpec, Mapping[str, Any]]]


def undisturbed(spec: RunSpec, _number: int) -> tuple[RunSpec, Mapping[str, Any]]:
    """The ``Disturb`` that changes nothing."""
    return spec, {}


def run_command(
    command: Sequence[str], request: Request, *, session: Session, disturb: Disturb = undisturbed
) -> tuple[Path, ...]:
    """Run a plain command as often as asked; the program's environment is the caller's.

    Raises:
        CannotRunError: As for ``run_recipe``.
    """
    extras.must_be_posix()
    seed = request.seed if request.seed is not None else 0
    plan = plan_command(
        command,
        seed=seed,
        repeats=request.repeats,
        stamp=stamp(),
        working_dir=Path.cwd(),
        timeout_s=request.timeout_s,
    )
    facts = {**plan.facts, **asked_in(session.project), "outputs": list(request.outputs)}
    plan = replace(plan, facts=facts, outputs=tuple(request.outputs))
    if request.backend == "docker":
        raise EngineError(
            "a plain command runs in your own Python", fix="write a recipe to run in a container"
        )
    for sentence in unused(command):
        session.progress.note(sentence)
    try:
        with among_others_in(session.project, note=session.progress.note):
            with session.phase("capture"):
                host = captured(command, session.project)
                here = Path.cwd()
                outside = capture.outside_code(command, root=work_tree_of(here), working_dir=here)
                plan = replace(plan, facts={**plan.facts, "outside_code": outside})
            if request.against_golden:
                from reprokit.harness.running.programs.plain_recipe import as_recipe

                place = os.path.relpath(session.project.golden_dir, session.project.root)
                plan = as_recipe(plan, command, request, golden=place, host=host)
            engine = Engine(
                backend=LocalBackend(),
                runs_dir=session.project.runs_dir,
                golden_dir=session.project.golden_dir,
                host=host,
                progress=session.progress,
            )
            with session.phase("train"):
                kept = (session.project.runs_dir, session.project.reports_dir)
                plan = with_shared_places(plan, runs_dir=kept[0], reports_dir=kept[1])
                tree = Tree.of(command, working_dir=Path.cwd(), kept=kept)
                return _one_by_one(plan, request, tree, engine=engine, disturb=disturb)
    except CannotRunError as error:
        name = plan.specs[0].recipe
        return (not_started(error, name=name, seed=seed, project=session.project, facts=plan.facts),)


def _one_by_one(
    plan: RunPlan, request: Request, tree: Tree, *, engine: Engine, disturb: Disturb
) -> tuple[Path, ...]:
    """Make the runs of a command in turn, up to one that fails; a wrong pattern is reported after the first.

    What the earlier ones left in the tree is recorded with each later one.
    """
    folders: list[Path] = []
    before = tree.look() if len(plan.specs) > 1 else None
    for number, spec in enumerate(plan.specs, start=1):
        left = tree.changes(before) if folders else {}
        one, own = disturb(spec, number)
        folders += engine.make(replace(plan, specs=(one,), facts={**plan.facts, **left, **own}))
        if not runs.read(folders[-1], verify=False).complete:
            break
        if len(folders) == 1:
            _must_fit(folders[0], request, is_recipe=plan.program is not None)
    return tuple(folders)


def _must_fit(folder: Path, request: Request, *, is_recipe: bool) -> None:
    """Refuse patterns of output files and of metrics that fit nothing of a run."""
    if not request.outputs and not request.ignore:
        return
    from reprokit import adapters
    from reprokit.harness.running.programs import program_output

    program_output.must_leave(program_output.left_by(runs.read(folder)), request.outputs)
    found = adapters.find_all(folder / OUTPUT if is_recipe else folder)
    adapters.must_fit(found, request.ignore, option="--ignore-metric")


def captured(command: Sequence[str], project: Project) -> MachineFacts:
    """This host and, asked at the same time, the program's Python: both before the program starts."""
    with ThreadPoolExecutor(max_workers=1) as beside:
        inside = beside.submit(capture.capture_interpreter, command)
        host = capture.capture_host(project.root)
        return {**host, "plain_inside": inside.result()}


def asked_in(project: Project) -> dict[str, Any]:
    """What of the project the command that repeats the run depends on."""
    bundle = {"bundle": dict(project.bundle)} if project.bundle else {}
    return {"folders_asked": list(project.options), "has_make": project.has_make, **bundle}


def not_started(
    error: CannotRunError,
    *,
    name: str,
    seed: int,
    project: Project,
    facts: Mapping[str, object],
    run_id: str = "",
) -> Path:
    """A run folder for a run that never began, so that a report can say why."""
    moment = now()
    run_id = run_id or f"{stamp()}-seed{seed}-1"
    spec = RunSpec(recipe=name, run_id=run_id, seed=seed, device="cpu", command=())
    folder = runs.create(project.runs_dir, spec, facts=facts)
    result = RunResult(
        outcome=Outcome(error.outcome),
        exit_code=None,
        message=error.told(),
        remedy=error.fix or "",
        started_at=moment,
        ended_at=moment,
        duration_s=0.0,
    )
    runs.finish(folder, result, environment={})
    return folder


def close_killed_runs(project: Project, *, progress: Progress) -> None:
    """End what a killed tool left running, and close its runs: their files lie where they stay.

    Raises:
        WorkspaceBusyError: Another tool is at work in the runs folder.
    """
    remove_orphans(str(project.runs_dir))
    with workspace.exclusive(project.runs_dir):
        runs.recover(project.runs_dir, note=progress.note)


@contextmanager
def among_others_in(project: Project, *, note: Callable[[str], None]) -> Iterator[None]:
    """The runs folder, others at work in it too; who comes into it alone closes what killed tools left."""
    # First: a container that trains on writes into a run that is closed next.
    remove_orphans(str(project.runs_dir))
    # Alone, because two tools that close one run would each find half of its files, and because a process of
    # another container cannot be asked whether it lives: it holds the lock as long as it does.
    recover = partial(runs.recover, project.runs_dir, note=note)
    workspace.make_results_folder(project.runs_dir)
    with workspace.shared(project.runs_dir, alone=recover):
        yield
