"""From a recipe and a request to run folders: environment, plan, runs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from reprokit import capture, images
from reprokit.core.fingerprint import PORTABLE
from reprokit.core.numerics import CUDA
from reprokit.core.records import Realisation, digest
from reprokit.errors import CannotRunError, EngineError, ImageError, RecipeError, UsageError
from reprokit.execution import Backend
from reprokit.execution import docker as docker_backend
from reprokit.execution import local as local_backend
from reprokit.harness.running.apply_variations import usable_cores
from reprokit.harness.running.clock import stamp
from reprokit.harness.running.environment_inside import inside_of, named_by_numpy
from reprokit.harness.running.execute import execute, with_shared_places
from reprokit.harness.running.gpus import gpus_for
from reprokit.harness.running.instrumented import instrumented
from reprokit.harness.running.numbers import PACKAGE
from reprokit.harness.running.other_seed import compared_with_other_seed
from reprokit.harness.running.plan import RunPlan, plan_recipe
from reprokit.harness.running.run_kinds import RunKind, WholeRun
from reprokit.harness.running.start_command import among_others_in, asked_in, not_started
from reprokit.images import locks
from reprokit.project import Project
from reprokit.recipes import NO_VARIANT, Recipe
from reprokit.request import Request
from reprokit.session import Progress, Session


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


def run_recipe(recipe: Recipe, request: Request, kind: RunKind, *, session: Session) -> tuple[Path, ...]:
    """Make runs of a recipe: whole ones, or one that is stopped, resumed or varied.

    Returns:
        The run folders. Where nothing could start (no engine, no image, another tool at work), one
        folder whose ``run.json`` says which of these it was.

    Raises:
        CannotRunError: Nothing could start, and not even that can be written.
        RecipeError: The recipe's environment is not declared.
    """
    must_have_variant(recipe, project=session.project)
    try:
        return _train(recipe, request, kind, session=session)
    except CannotRunError as error:
        seed = request.seed_of(recipe.seeds)
        facts = {
            "modified": list(recipe.modified),
            "recipe_data": recipe.as_data(),
            "backend_asked": request.backend,
            **({"platform_asked": recipe.platform} if recipe.platform else {}),
            **asked_in(session.project),
        }
        return (not_started(error, name=recipe.name, seed=seed, project=session.project, facts=facts),)


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedRuns:
    """Runs that could start now.

    Attributes:
        plan: What will run.
        realisation: In which environment; None for this Python.
        backend: What runs it.
        side_by_side: How many runs at one time.
        gpus: Numbers of the GPUs that a trainer's runs may be made on, one each; empty for a CPU.
    """

    plan: RunPlan
    realisation: Realisation | None
    backend: Backend
    side_by_side: int
    gpus: tuple[int, ...] = ()


def prepare(
    recipe: Recipe,
    request: Request,
    kind: RunKind = WholeRun(),  # noqa: B008 - frozen
    *,
    session: Session,
) -> PreparedRuns:
    """The environment of a recipe, found or made, and the plan of its runs.

    Raises:
        DeviceError: The recipe asks for a GPU that is not on this host, or not free.
        CannotRunError: The environment cannot be made here.
        UsageError: A run is to be resumed in an environment of another lock than it began in.
    """
    if recipe.program is not None and request.profile_step is not None:
        raise UsageError(
            "an unmodified program is run as it is: it cannot be profiled",
            where=recipe.where("command"),
            fix="leave out --profile",
        )
    gpus = (
        gpus_for(recipe, request, project=session.project, note=session.progress.note)
        if recipe.device == CUDA
        else ()
    )
    name = backend_of(recipe, request, progress=session.progress)
    realisation = (
        None
        if recipe.variant == NO_VARIANT
        else images.resolve(
            recipe.variant,
            project=session.project.root,
            kind="image" if name == "docker" else "venv",
            base=request.base,
            on_progress=session.progress.note,
        )
    )
    cores = _cores_beside(kind, request) if recipe.ranks is None else ()  # the ranks share them
    plan = plan_recipe(
        recipe,
        kind,
        seed=request.seed_of(recipe.seeds),
        realisation=realisation,
        backend=name,
        stamp=stamp(),
        runs_dir=session.project.runs_dir,
        cores=cores,
        gpus=gpus,
        timeout_s=request.timeout_s,
        profile_step=request.profile_step,
        environments=session.project.root,
        package=session.project.package or PACKAGE,
    )
    return PreparedRuns(
        plan=plan,
        realisation=realisation,
        backend=docker_backend.DockerBackend(workspace=str(session.project.runs_dir))
        if name == "docker"
        else local_backend.LocalBackend(workspace=str(session.project.runs_dir)),
        side_by_side=max(1, min(len(cores), len(gpus) or len(cores))),
        gpus=gpus,
    )


def with_numpys_own_names(ready: PreparedRuns, recipe: Recipe) -> PreparedRuns:
    """The same, with what ``portable`` switches off under the names of the numpy that a program finds.

    Raises:
        CannotRunError: The environment's Python does not start.
    """
    if recipe.program is None or ready.realisation is None or recipe.numerics != PORTABLE:
        return ready
    return _named(ready, inside_of(ready.plan.specs[0], backend=ready.backend))


def _named(ready: PreparedRuns, inside: Mapping[str, Any]) -> PreparedRuns:
    specs = tuple(named_by_numpy(spec, inside) for spec in ready.plan.specs)
    return ready if specs == ready.plan.specs else replace(ready, plan=replace(ready.plan, specs=specs))


def ready_to_run(
    recipe: Recipe,
    request: Request,
    kind: RunKind,
    *,
    session: Session,
    host: Mapping[str, Any] | None = None,
) -> tuple[PreparedRuns, dict[str, Any]]:
    """The runs with everything that ``run.json`` will say of them, and what this host is.

    Args:
        recipe: The validated recipe, overrides applied.
        request: What was asked for.
        kind: Whole runs and how many, or one that is stopped, resumed or varied.
        session: The project, and who is told what takes long.
        host: What ``capture.capture_host`` found before; None to look now.

    Raises:
        CannotRunError: The environment cannot be made here.
        RecipeError: The recipe's environment is not declared.
    """
    ready = prepare(recipe, request, kind, session=session)
    whole = request.strict or bool(os.environ.get("CI"))
    facts: dict[str, Any] = {}
    files: dict[str, bytes] = {}
    if ready.realisation is not None:
        facts, files = images.kept_with_runs(ready.realisation, project=session.project.root, whole=whole)
    found = dict(host) if host is not None else capture.capture_host(session.project.root)
    if recipe.program is not None:
        found["plain_inside"] = inside_of(ready.plan.specs[0], backend=ready.backend)
        named = _named(ready, found["plain_inside"])
        if named is not ready:
            ready = named
            found["plain_inside"] = inside_of(ready.plan.specs[0], backend=ready.backend)
        if ready.realisation is None:
            place = recipe.project_dir
            facts["outside_code"] = capture.outside_code(
                recipe.program.command, root=place, working_dir=place
            )
            packages = found["plain_inside"].get("packages") or {}
            facts["digests"] = {**ready.plan.facts["digests"], "lock": digest(packages)}
    further = {"backend_asked": request.backend, **asked_in(session.project), **facts}
    plan = replace(
        ready.plan,
        facts={**ready.plan.facts, **further},
        files={**ready.plan.files, **files},
    )
    watched = recipe.program is not None and recipe.program.instrument
    return replace(ready, plan=instrumented(plan) if watched else plan), found


def _train(recipe: Recipe, request: Request, kind: RunKind, *, session: Session) -> tuple[Path, ...]:
    with among_others_in(session.project, note=session.progress.note):
        with session.phase("environment"):
            ready, host = ready_to_run(recipe, request, kind, session=session)
        plan = ready.plan
        if recipe.program is not None and ready.realisation is None:
            plan = with_shared_places(plan, runs_dir=session.project.runs_dir, project=recipe.project_dir)
        run = partial(
            execute,
            backend=ready.backend,
            runs_dir=session.project.runs_dir,
            host=host,
            progress=session.progress,
        )
        watched = recipe.program is not None and recipe.program.instrument
        if watched and isinstance(kind, WholeRun) and kind.beside_other_seed:
            with session.phase("other seed"):
                plan = compared_with_other_seed(plan, recipe, run=run, project=session.project)
        with session.phase("train"):
            find_golden = kind.find_golden if isinstance(kind, WholeRun) else None
            return run(plan, side_by_side=ready.side_by_side, find_golden=find_golden)


def must_have_variant(recipe: Recipe, *, project: Project) -> None:
    """Refuse a recipe whose environment is not declared.

    Raises:
        RecipeError: There is no such variant.
    """
    try:
        known = locks.read_lock(project.root).variants
    except ImageError:
        return  # a fault of the project's, which has a verdict of its own: NOT_RUN
    if recipe.variant not in {*known, NO_VARIANT}:
        raise RecipeError(
            f"there is no environment for the variant {recipe.variant!r}",
            where=recipe.where("variant"),
            expected=" or ".join(sorted(known)),
            fix="name one of these, or make it: "
            f"reprokit image lock {recipe.variant} --from requirements.txt",
        )


def backend_of(recipe: Recipe, request: Request, *, progress: Progress | None = None) -> str:
    """``docker`` or ``local``: where runs of a recipe are made.

    Raises:
        EngineError: Docker was asked for, and no engine answers or nothing says what image to run.
    """
    if recipe.variant != NO_VARIANT:
        return choose_backend(request.backend, progress=progress)
    if request.backend == "docker":
        raise EngineError(
            "the recipe's variant is none: it runs in this Python",
            fix="`reprokit image lock NAME --from requirements.txt`, and `variant: NAME` in the recipe",
        )
    return "local"


def _cores_beside(kind: RunKind, request: Request) -> tuple[int, ...]:
    """A core for each of several whole runs side by side; none where runs are made one after the other."""
    sharing = max(kind.repeats, kind.beside) if isinstance(kind, WholeRun) else 1
    if sharing == 1 or not request.side_by_side:
        return ()
    cores = usable_cores()[:sharing]
    return cores if len(cores) > 1 else ()
