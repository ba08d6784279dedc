"""From a request to run folders: environment, plan, runs; and a folder even for what could not start."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from reprokit import capture, images, runs, workspace
from reprokit.core.records import Outcome, Realisation, RunResult, RunSpec
from reprokit.errors import CannotRunError, EngineError, UsageError
from reprokit.execution import Backend
from reprokit.execution import docker as docker_backend
from reprokit.execution import local as local_backend
from reprokit.harness.running.clock import Phases, now, stamp
from reprokit.harness.running.execute import Progress, execute, usable_cores
from reprokit.harness.running.installed_packages import installed_facts
from reprokit.harness.running.plan import Plan, plan_command, plan_recipe
from reprokit.harness.running.run_kinds import ResumedRun, ResumePoint, RunKind, VariedRun, WholeRun
from reprokit.harness.running.varied_run import varied
from reprokit.project import Project
from reprokit.recipes import Recipe
from reprokit.request import Request


def choose_backend(wanted: str, *, progress: Progress | None = None) -> str:
    """``docker`` or ``local``: what is asked for, or what this host can do.

    Raises:
        EngineError: Docker was asked for and no engine answers.
    """
    if wanted == "local":
        return "local"
    status = docker_backend.engine_status()
    if status.reachable:
        return "docker"
    if wanted == "docker":
        raise EngineError(status.error, fix=status.remedy)
    if progress is not None:
        progress.note("no container engine answers: training runs in a virtual environment of the same lock")
    return "local"


def run_recipe(
    recipe: Recipe, request: Request, kind: RunKind, *, project: Project, phases: Phases
) -> tuple[Path, ...]:
    """Make runs of a recipe: whole ones, or one that is stopped, resumed or varied.

    Returns:
        The run folders. Where nothing could start (no engine, no image, another tool at work), one
        folder whose ``run.json`` says which of these it was.

    Raises:
        CannotRunError: Nothing could start, and not even that can be written.
    """
    try:
        return _train(recipe, request, kind, project=project, phases=phases)
    except CannotRunError as error:
        seed = request.seed_of(recipe.seeds)
        facts = {"modified": list(recipe.modified), "recipe_data": recipe.as_data()}
        return (_not_started(error, name=recipe.name, seed=seed, project=project, facts=facts),)


def run_command(
    command: Sequence[str], request: Request, *, project: Project, phases: Phases
) -> tuple[Path, ...]:
    """Run a plain command as often as asked; the program's environment is the caller's.

    Raises:
        CannotRunError: As for ``run_recipe``.
    """
    seed = request.seed if request.seed is not None else 0
    plan = plan_command(
        command,
        seed=seed,
        repeats=request.repeats,
        stamp=stamp(),
        working_dir=Path.cwd(),
        timeout_s=request.timeout_s,
    )
    if request.backend == "docker":
        raise EngineError(
            "a plain command runs in your own Python", fix="write a recipe to run in a container"
        )
    try:
        with workspace.exclusive(project.runs_dir):
            _clean_up(project)
            with phases.of("capture"):
                host = capture.capture_host(project.root)
                host["plain_inside"] = capture.capture_interpreter(command)
            with phases.of("train"):
                return execute(
                    plan,
                    backend=local_backend.LocalBackend(),
                    runs_dir=project.runs_dir,
                    host=host,
                    progress=phases.progress,
                )
    except CannotRunError as error:
        name = plan.specs[0].recipe
        return (_not_started(error, name=name, seed=seed, project=project, facts=plan.facts),)


def environment_of(
    recipe: Recipe, *, backend: str, base: str, project: Project, progress: Progress
) -> Realisation:
    """The environment of a recipe for a backend, found or made.

    Raises:
        CannotRunError: It cannot be made here.
    """
    return images.resolve(
        recipe.variant,
        project=project.root,
        kind="image" if backend == "docker" else "venv",
        base=base,
        on_progress=progress.note,
    )


def _train(
    recipe: Recipe, request: Request, kind: RunKind, *, project: Project, phases: Phases
) -> tuple[Path, ...]:
    with workspace.exclusive(project.runs_dir):
        _clean_up(project)
        backend = choose_backend(request.backend, progress=phases.progress)
        with phases.of("environment"):
            realisation = environment_of(
                recipe, backend=backend, base=request.base, project=project, progress=phases.progress
            )
            installed = installed_facts(realisation, project=project.root, strict=request.strict)
            host = capture.capture_host(project.root)
        if isinstance(kind, ResumedRun):
            must_be_same_environment(kind.point, realisation.lock_digest)
        cores = _cores_beside(kind, request)
        plan = _plan(recipe, request, kind, realisation, backend=backend, cores=cores, project=project)
        plan = replace(plan, facts={**plan.facts, **installed})
        with phases.of("train"):
            return execute(
                plan,
                backend=backend_named(backend, project),
                runs_dir=project.runs_dir,
                host=host,
                progress=phases.progress,
                side_by_side=max(1, len(cores)),
            )


def _cores_beside(kind: RunKind, request: Request) -> tuple[int, ...]:
    """A core for each of several whole runs side by side; none where runs are made one after the other."""
    if not isinstance(kind, WholeRun) or kind.repeats == 1 or not request.side_by_side:
        return ()
    cores = usable_cores()[: kind.repeats]
    return cores if len(cores) > 1 else ()


def _plan(
    recipe: Recipe,
    request: Request,
    kind: RunKind,
    realisation: Realisation,
    *,
    backend: str,
    cores: Sequence[int],
    project: Project,
) -> Plan:
    plan = plan_recipe(
        recipe,
        kind,
        seed=request.seed_of(recipe.seeds),
        realisation=realisation,
        backend=backend,
        stamp=stamp(),
        runs_dir=project.runs_dir,
        cores=cores,
        timeout_s=request.timeout_s,
        profile_step=request.profile_step,
        facts={"backend_asked": request.backend},
        files=images.files_of_run(realisation, project=project.root),
    )
    return varied(plan, kind, runs_dir=project.runs_dir) if isinstance(kind, VariedRun) else plan


def _not_started(
    error: CannotRunError, *, name: str, seed: int, project: Project, facts: Mapping[str, object]
) -> Path:
    """A run folder for a run that never began, so that a report can say why."""
    moment = now()
    spec = RunSpec(recipe=name, run_id=f"{stamp()}-seed{seed}-1", seed=seed, device="cpu", command=())
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


def settle(project: Project) -> None:
    """End what a killed tool left running, and close its runs: their files lie where they stay.

    Raises:
        WorkspaceBusyError: Another tool is at work in the runs folder.
    """
    with workspace.exclusive(project.runs_dir):
        _clean_up(project)


def must_be_same_environment(point: ResumePoint, lock_digest: str) -> None:
    """Refuse to go on in an environment of another lock than the run began in.

    Raises:
        UsageError: It is of another one.
    """
    if lock_digest != point.lock_digest:
        raise UsageError(
            "the environment's lock changed, so the run cannot be resumed",
            where=str(point.path),
            expected=point.lock_digest or "a lock in run.json",
            actual=lock_digest,
            fix="put the lock back (the run keeps its own in source/), or start a new run",
        )


def _clean_up(project: Project) -> None:
    # First: a container that trains on writes into a run that is closed next.
    docker_backend.remove_orphans(str(project.runs_dir))
    runs.recover(project.runs_dir)


def backend_named(name: str, project: Project) -> Backend:
    """What runs programs as ``docker`` or ``local``."""
    if name == "docker":
        return docker_backend.DockerBackend(workspace=str(project.runs_dir))
    return local_backend.LocalBackend()
