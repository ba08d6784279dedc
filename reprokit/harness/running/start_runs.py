"""From a recipe and a request to run folders: environment, plan, runs."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reprokit import capture, extras, images, runs
from reprokit.core.environments.cpu_features import named_by_numpy, names_to_switch_off
from reprokit.core.fingerprint import PORTABLE
from reprokit.core.numerics import CUDA
from reprokit.core.records import digest
from reprokit.errors import CannotRunError, ImageError, RecipeError, UsageError
from reprokit.execution import Backend
from reprokit.harness.running.clock import stamp
from reprokit.harness.running.engine import Engine, OnBegun, OnClosed, not_told, with_shared_places
from reprokit.harness.running.environments.environment import Environment, open_backend, ready
from reprokit.harness.running.plan import RunPlan, plan_recipe
from reprokit.harness.running.programs.environment_inside import inside_of
from reprokit.harness.running.programs.instrumented import instrumented
from reprokit.harness.running.programs.other_seed import compared_with_other_seed
from reprokit.harness.running.run_kinds import RunKind, WholeRun
from reprokit.harness.running.sinks import follow_runs
from reprokit.harness.running.start_command import Disturb, among_others_in, asked_in, not_started
from reprokit.images import locks
from reprokit.project import Project
from reprokit.recipes import NO_VARIANT, Recipe
from reprokit.request import Request
from reprokit.session import Session

if TYPE_CHECKING:
    from reprokit.core.environment_record import InsideFacts, MachineFacts

#: A seed that a program takes from a clock in seconds would be one in two runs that begin together.
_APART_S = 1.25


def run_recipe(
    recipe: Recipe,
    request: Request,
    kind: RunKind,
    *,
    session: Session,
    ready: tuple[PreparedRuns, MachineFacts] | None = None,
    stop: threading.Event | None = None,
    disturb: Disturb | None = None,
) -> tuple[Path, ...]:
    """Make runs of a recipe: whole ones, or one that is stopped, resumed or varied.

    Args:
        recipe: The validated recipe, overrides applied.
        request: What was asked for.
        kind: Which runs.
        session: The project, and the progress that is shown.
        ready: What ``ready_to_run`` gave before; None to make it ready now.
        stop: As of ``Engine``.
        disturb: Disturbs runs that are made in turn; None for runs that are left as they are.

    Returns:
        The run folders. Where nothing could start (no engine, no image, another tool at work), one
        folder whose ``run.json`` says which of these it was.

    Raises:
        CannotRunError: Nothing could start, and not even that can be written.
        RecipeError: The recipe's environment is not declared.
    """
    extras.must_be_posix()
    project = session.project
    must_have_variant(recipe, project=project)
    try:
        with among_others_in(project, note=session.progress.note):
            with session.phase("environment"):
                prepared, found = ready or ready_to_run(recipe, request, kind, session=session)
            engine = Engine(
                backend=prepared.backend,
                runs_dir=project.runs_dir,
                golden_dir=project.golden_dir,
                host=found,
                progress=session.progress,
                stop=stop,
                apart_s=_APART_S,
                on_begun=_followed(recipe, request, kind, session=session),
                on_closed=prepared.on_closed,
            )
            plan = _with_what_is_beside(prepared, recipe, kind, engine=engine, session=session)
            with session.phase("train"):
                if disturb is not None:
                    return _disturbed(plan, disturb, engine=engine)
                find_golden = kind.find_golden if isinstance(kind, WholeRun) else None
                at_one_time = prepared.environment.side_by_side
                return engine.make(plan, side_by_side=at_one_time, find_golden=find_golden)
    except CannotRunError as error:
        facts = {
            "modified": list(recipe.modified),
            "recipe_data": recipe.as_data(),
            "backend_asked": request.backend,
            **({"platform_asked": recipe.platform} if recipe.platform else {}),
            **asked_in(project),
        }
        seed = request.seed_of(recipe.seeds)
        return (not_started(error, name=recipe.name, seed=seed, project=project, facts=facts),)


def _followed(recipe: Recipe, request: Request, kind: RunKind, *, session: Session) -> OnBegun:
    """What follows whole runs while they train."""
    sinks = (*recipe.sinks, *request.sinks) if isinstance(kind, WholeRun) else ()
    return follow_runs(recipe.name, sinks, is_live=recipe.program is None, session=session)


def _disturbed(plan: RunPlan, disturb: Disturb, *, engine: Engine) -> tuple[Path, ...]:
    """Make the runs in turn, each one disturbed, up to one that fails."""
    plan = with_shared_places(plan, runs_dir=engine.runs_dir)
    folders: list[Path] = []
    for number, spec in enumerate(plan.specs, start=1):
        one, own = disturb(spec, number)
        folders += engine.make(replace(plan, specs=(one,), facts={**plan.facts, **own}))
        if not runs.read(folders[-1], verify=False).complete:
            break
    return tuple(folders)


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedRuns:
    """Runs that could start now.

    Attributes:
        plan: What will run.
        environment: Where.
        backend: What runs it.
        on_closed: As of ``Engine``.
    """

    plan: RunPlan
    environment: Environment
    backend: Backend
    on_closed: OnClosed = not_told


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
    environment = ready(recipe, request, kind, session=session)
    plan = plan_recipe(
        recipe,
        kind,
        seed=request.seed_of(recipe.seeds),
        environment=environment,
        stamp=stamp(),
        timeout_s=request.timeout_s,
        profile_step=request.profile_step,
    )
    backend = open_backend(environment.backend, workspace=session.project.runs_dir)
    return PreparedRuns(plan=plan, environment=environment, backend=backend)


def with_numpys_own_names(prepared: PreparedRuns, recipe: Recipe) -> PreparedRuns:
    """The same, with what ``portable`` switches off under the names of the numpy that a program finds.

    Raises:
        CannotRunError: The environment's Python does not start.
    """
    if recipe.program is None or prepared.environment.realisation is None or recipe.numerics != PORTABLE:
        return prepared
    return _named(prepared, inside_of(prepared.plan.specs[0], backend=prepared.backend))


def _named(prepared: PreparedRuns, inside: InsideFacts) -> PreparedRuns:
    """The same for runs that are planned later in this environment, too: members of a sweep, another seed."""
    own = names_to_switch_off((inside.get("numpy") or {}).get("cpu_features"))
    plan, environment = prepared.plan, replace(prepared.environment, switched_off=own)
    specs = tuple(replace(spec, environment=named_by_numpy(spec.environment, own)) for spec in plan.specs)
    plan = plan if specs == plan.specs else replace(plan, specs=specs)
    return replace(prepared, plan=plan, environment=environment)


def ready_to_run(
    recipe: Recipe,
    request: Request,
    kind: RunKind,
    *,
    session: Session,
    host: MachineFacts | None = None,
) -> tuple[PreparedRuns, MachineFacts]:
    """The runs with everything that ``run.json`` will say of them, and what this host is.

    Args:
        recipe: The validated recipe, overrides applied.
        request: What was asked for.
        kind: Whole runs and how many, or one that is stopped, resumed or varied.
        session: The project, and the progress that is shown.
        host: What ``capture.capture_host`` found before; None to look now.

    Raises:
        CannotRunError: The environment cannot be made here.
        RecipeError: The recipe's environment is not declared.
    """
    prepared = prepare(recipe, request, kind, session=session)
    with ThreadPoolExecutor(max_workers=1) as aside:  # two looks, each of which waits for the system
        kept = aside.submit(_kept_with_runs, prepared, request, project=session.project)
        found = host.copy() if host is not None else capture.capture_host(session.project.root)
        facts, files = kept.result()
    if recipe.program is not None:
        found["plain_inside"] = _inside(prepared, recipe, host=found)
        before, prepared = prepared, _named(prepared, found["plain_inside"])
        if prepared.plan is not before.plan:
            found["plain_inside"] = _inside(prepared, recipe, host=found)
        if prepared.environment.realisation is None:
            place = recipe.project_dir
            facts["outside_code"] = capture.outside_code(
                recipe.program.command, root=place, working_dir=place
            )
            packages = found["plain_inside"].get("packages") or {}
            facts["digests"] = {**prepared.plan.facts["digests"], "lock": digest(packages)}
    further = {"backend_asked": request.backend, **asked_in(session.project), **facts}
    plan = replace(
        prepared.plan,
        facts={**prepared.plan.facts, **further},
        files={**prepared.plan.files, **files},
    )
    return replace(prepared, plan=instrumented(plan) if recipe.is_watched else plan), found


def _kept_with_runs(
    prepared: PreparedRuns, request: Request, *, project: Project
) -> tuple[dict[str, Any], dict[str, bytes]]:
    if prepared.environment.realisation is None:
        return {}, {}
    whole = request.strict or bool(os.environ.get("CI"))
    return images.kept_with_runs(prepared.environment.realisation, project=project.root, whole=whole)


def _inside(prepared: PreparedRuns, recipe: Recipe, *, host: MachineFacts) -> InsideFacts:
    """What the program's Python says; a GPU is the host's word where that Python is not known."""
    spec, program = prepared.plan.specs[0], recipe.program
    if program is not None and prepared.environment.realisation is None:
        folder = str(recipe.project_dir / program.working_dir)
        spec = replace(spec, command=program.command, working_dir=folder)
    inside = inside_of(spec, backend=prepared.backend)
    gpus = host.get("gpus") or ()
    if "python" in inside or spec.device != CUDA or not gpus:
        return inside
    return {**inside, "device": {"kind": CUDA, "name": gpus[0].get("name")}}


def _with_what_is_beside(
    prepared: PreparedRuns, recipe: Recipe, kind: RunKind, *, engine: Engine, session: Session
) -> RunPlan:
    """The plan, with the places that its runs share, and with a run with another seed where one is due."""
    plan = prepared.plan
    if recipe.traces:
        return plan
    if prepared.environment.realisation is None:
        plan = with_shared_places(plan, runs_dir=engine.runs_dir, project=recipe.project_dir)
        # A run that is made alone, such as a varied or resumed one, could read what the pair before it left
        plan = replace(plan, shared=plan.shared or session.shared.get(recipe.file))
        session.shared[recipe.file] = plan.shared
    if recipe.is_watched and isinstance(kind, WholeRun) and kind.beside_other_seed:
        with session.phase("other seed"):
            plan = compared_with_other_seed(plan, recipe, environment=prepared.environment, engine=engine)
    return plan


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
            f"reprokit image lock {recipe.variant} --dependencies requirements.txt",
        )
