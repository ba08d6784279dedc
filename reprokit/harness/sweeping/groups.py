"""Recipes with settings, made ready to run; and the members of a sweep that each of them stands for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from reprokit import recipes
from reprokit.core.environment_record import MachineFacts
from reprokit.core.evidence import fact, is_integer
from reprokit.core.fingerprint import platforms_of_host
from reprokit.core.records import digest
from reprokit.errors import CannotRunError, UsageError
from reprokit.harness.running.clock import stamp
from reprokit.harness.running.member_runs import by_seed, standing_of
from reprokit.harness.running.plan import RunPlan, plan_recipe
from reprokit.harness.running.programs.instrumented import instrumented
from reprokit.harness.running.run_inputs import (
    RunInputs,
    WholeRunFolder,
    is_recorded,
    planned_inputs,
    whole_run,
    whole_runs,
)
from reprokit.harness.running.run_kinds import ResumedRun, ResumePoint, WholeRun
from reprokit.harness.running.start_runs import PreparedRuns, must_have_variant, ready_to_run
from reprokit.harness.sweeping.asked import Seeds
from reprokit.harness.sweeping.results import last_return
from reprokit.project import Project
from reprokit.recipes import Recipe
from reprokit.request import Request
from reprokit.runs.listing import key_of
from reprokit.runs.sweeps import MemberState, SweepMember
from reprokit.session import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepGroup:
    """The members of a sweep that share recipe and settings.

    Attributes:
        recipe: With the settings applied.
        request: With the settings as overrides.
        seeds: One a member.
        ready: Their plan and what runs them; None where nothing can run.
        host: What this host is, for their environment records.
        inputs: What their numbers stand on, but for the seed; None where nothing can run.
        problem: Why nothing can run, or "".
        machines: The only machines of an engine that may run them; empty for all.
        kind: Of these machines, where a sweep has several kinds: what can change numbers, as a digest.
    """

    recipe: Recipe
    request: Request
    seeds: tuple[int, ...]
    ready: PreparedRuns | None = None
    host: MachineFacts
    inputs: RunInputs | None = None
    problem: str = ""
    machines: tuple[str, ...] = ()
    kind: str = ""

    @property
    def is_mixed(self) -> bool:
        """Whether machines of any kind may run them."""
        return self.inputs is not None and self.inputs.is_mixed

    @property
    def is_pinned(self) -> bool:
        """Whether its runs get one core each wherever there are several, as those of ``reproduce`` do.

        A program that starts a thread a core computes the same then, however many members run side by side. A
        trainer has one thread anyway; so the system may share the cores out evenly.
        """
        return not self.recipe.traces

    @property
    def may_differ(self) -> bool:
        """Whether the recipe says that two runs cannot be equal on a platform of this host."""
        return not self.recipe.repeatable.keys().isdisjoint(platforms_of_host(self.host))

    def plan(
        self,
        seed: int,
        *,
        core: int | None,
        stamped: str = "",
        point: ResumePoint | None = None,
        place: int = 0,
    ) -> RunPlan:
        """The run of one seed, as it was made ready with all others, on one core or on all of them.

        Args:
            seed: Its seed.
            core: Its core; None for all.
            stamped: What begins its run id; "" for the time and four random digits.
            point: The checkpoint that it continues from; None for a whole run.
            place: Its place among those that run side by side, from 0: which of the GPUs it gets.
        """
        plan = self.planned_again(seed, core=core, stamped=stamped, point=point, place=place)
        if self.ready is not None:
            own = {name: fact for name, fact in plan.facts.items() if name == "resumed_from"}
            plan = replace(plan, facts={**self.ready.plan.facts, **own}, files=self.ready.plan.files)
        return instrumented(plan) if self.recipe.is_watched else plan

    def planned_again(
        self,
        seed: int,
        *,
        core: int | None,
        stamped: str = "",
        point: ResumePoint | None = None,
        place: int = 0,
    ) -> RunPlan:
        """The same with what the recipe says of it, and without what its environment says."""
        if self.ready is None:
            raise UsageError(self.problem)
        gpus = self.ready.environment.gpus
        return plan_recipe(
            self.recipe,
            ResumedRun(point=point) if point else WholeRun(),
            seed=seed,
            environment=replace(
                self.ready.environment,
                cores=() if core is None else (core,),
                gpus=(gpus[place % len(gpus)],) if gpus else (),
            ),
            stamp=stamped or stamp(),
            timeout_s=self.request.timeout_s,
        )


def load_recipes(
    names: Sequence[str],
    settings: Sequence[tuple[str, ...]],
    *,
    arguments: Sequence[str] = (),
    project: Project,
) -> list[Recipe]:
    """Every recipe with every combination of settings, and with each of the arguments for its command.

    Raises:
        RecipeError: One is wrong, or its environment is not declared.
        UsageError: There are arguments for a recipe without a command, or they cannot be read.
    """
    found = [
        recipe
        for name in names
        for chosen in settings
        for recipe in _with_arguments(name, chosen, arguments, project=project)
    ]
    for recipe in found:
        must_have_variant(recipe, project=project)
    return found


def _with_arguments(
    name: str, settings: tuple[str, ...], arguments: Sequence[str], *, project: Project
) -> Iterator[Recipe]:
    plain = recipes.load(name, recipes_dir=project.recipes_dir, overrides=settings)
    others = [one for one in settings if one.partition("=")[0].strip() != "command"]
    for text in arguments:
        words = recipes.words_of(text)
        command = recipes.command_with(plain, words, fix="set one of its settings: --set training.NAME=VALUE")
        yield recipes.load(name, recipes_dir=project.recipes_dir, overrides=[*others, command])
    if not arguments:
        yield plain


def make_ready(
    recipe: Recipe, request: Request, *, seeds: Seeds, host: MachineFacts, session: Session
) -> SweepGroup:
    """A recipe made ready to run, or why it cannot be."""
    chosen = seeds(recipe.seeds)
    request = replace(request, seed=chosen[0], overrides=recipe.asked)
    group = SweepGroup(recipe=recipe, request=request, seeds=chosen, host=host)
    try:
        ready, found = ready_to_run(recipe, request, WholeRun(beside=2), session=session, host=host)
    except CannotRunError as error:
        return replace(group, problem=error.told())
    inputs = planned_inputs(ready.plan.specs[0], facts=ready.plan.facts, host=found)
    return replace(group, ready=ready, host=found, inputs=inputs)


def with_one_backend(groups: Sequence[SweepGroup]) -> list[SweepGroup]:
    """The same, all with one backend of a kind: what its runs share is made once."""
    found = [group.ready for group in groups if group.ready]
    first = {ready.backend.name: ready.backend for ready in reversed(found)}
    return [
        replace(group, ready=replace(group.ready, backend=first[group.ready.backend.name]))
        if group.ready
        else group
        for group in groups
    ]


def with_other_settings(group: SweepGroup, recipe: Recipe) -> SweepGroup:
    """The same recipe with other settings, in the environment that was made ready for a group.

    Raises:
        UsageError: Nothing can run in that environment.
        RecipeError: Data that the recipe declares is missing or other than declared.
    """
    ready = group.ready
    if ready is None:
        raise UsageError(group.problem)
    there = ready.plan
    group = replace(group, recipe=recipe, request=replace(group.request, overrides=recipe.asked))
    core = next(iter(there.specs[0].limits.cpus or ()), None)
    plan = group.planned_again(group.seeds[0], core=core)
    digests = {**there.facts["digests"], **plan.facts["digests"]}  # the lock's is the environment's
    plan = replace(
        plan,
        facts={**there.facts, **plan.facts, "digests": digests},
        files={**there.files, **plan.files},
    )
    plan = instrumented(plan) if recipe.is_watched else plan
    inputs = planned_inputs(plan.specs[0], facts=plan.facts, host=group.host)
    return replace(group, ready=replace(ready, plan=plan), inputs=inputs)


def members_of(group: SweepGroup) -> Iterator[SweepMember]:
    """The members of a group; no one has looked for their runs yet."""
    recipe = group.recipe
    for seed in group.seeds:
        if group.inputs is None:
            yield SweepMember(
                recipe=recipe.name,
                settings=recipe.asked,
                seed=seed,
                identity=digest([MemberState.NOT_STARTED, recipe.digest, list(recipe.asked), seed]),
                state=MemberState.NOT_STARTED,
                message=group.problem,
            )
        else:
            yield SweepMember(
                recipe=recipe.name,
                settings=recipe.asked,
                seed=seed,
                inputs=group.inputs.digest,
                identity=group.inputs.of_seed(seed),
                kind=group.kind,
                mixed=group.is_mixed,
            )


def as_they_stand(
    members: Sequence[SweepMember],
    group_of: Mapping[int, SweepGroup],
    *,
    project: Project,
    same_overrides: bool = False,
    counts: Callable[[Path], bool] | None = None,
) -> list[SweepMember]:
    """The members, each as far as its run folders say that it is.

    Args:
        members: No one has looked for their runs yet.
        group_of: Place of a member → its group.
        project: Where the runs are.
        same_overrides: Whether only runs count whose recipe was loaded with the same overrides.
        counts: Whether a run folder counts; None where all do.
    """
    there: dict[str, dict[int, list[WholeRunFolder]]] = {}
    found = []
    for at, member in enumerate(members):
        group = group_of[at]
        if group.inputs is None:
            found.append(member)
            continue
        if member.recipe not in there:
            there[member.recipe] = by_seed(whole_runs(project.runs_dir, recipe=member.recipe))
        among = there[member.recipe].get(member.seed, ())
        if is_recorded(group.host):  # what was made of changes that no commit has cannot be promoted
            among = [one for one in among if one.is_recorded]
        if same_overrides:
            among = [one for one in among if one.asked == group.recipe.asked]
        if counts is not None:
            among = [one for one in among if counts(one.path)]
        standing = standing_of(group.inputs, member.seed, among=among)
        folder = standing.folder
        complete = folder is not None and standing.state is MemberState.COMPLETE
        found.append(
            replace(
                member,
                state=standing.state,
                run=key_of(folder) if folder else "",
                message=standing.message,
                attempts=standing.attempts,
                last_return=last_return(folder, group.recipe) if folder and complete else None,
                kind=kind_of(folder) if folder and complete and member.mixed else member.kind,
            )
        )
    return found


def kind_of(folder: Path) -> str:
    """What of the machine can change numbers, of a run that is finished; "" where it does not say."""
    found = whole_run(folder)
    return found.inputs.surroundings if found else ""


def refuse_twins(members: Sequence[SweepMember]) -> None:
    """Raise `UsageError` where two members are one and the same run: its folder would count twice."""
    seen: dict[str, SweepMember] = {}
    for member in members:
        other = seen.setdefault(member.identity, member)
        if other is not member:
            raise UsageError(
                f"two members are the same run: {other.label!r} and {member.label!r}",
                fix="leave one of them out",
            )


def side_by_side(groups: Sequence[SweepGroup], *, num_cores: int) -> int:
    """How many members run at one time where no one said: a core each, or a GPU each, or one on a TPU.

    Those that no full round has room for share the cores with the first round, where all have one thread and
    the memory suffices: five trainings on two cores take the time of two and a half, not of three.

    Args:
        groups: That of each member that is to run.
        num_cores: How many cores there are.
    """
    if any(group.recipe.device != "cpu" for group in groups):
        return max(1, min(len(group.ready.environment.gpus) if group.ready else 0 for group in groups))
    num_cores = max(1, num_cores)
    odd = len(groups) % num_cores if len(groups) > num_cores else 0
    needed = max((group.recipe.limits.memory_gib for group in groups), default=0.0) * (num_cores + odd)
    total = fact(groups[0].host, "memory.total_bytes") if groups else None
    fits = is_integer(total) and needed * 2**30 <= total
    return num_cores + (odd if fits and not any(group.is_pinned for group in groups) else 0)
