"""Both sides of a recipe made ready and run: each from its own tree, in its own environment, twice."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reprokit import capture, recipes, runs
from reprokit.core.environment_record import MachineFacts
from reprokit.errors import CannotJudgeError, CannotRunError, UsageError
from reprokit.features.compare.answer import SIDES
from reprokit.features.compare.asked import SideAsked, overrides_of
from reprokit.features.compare.conditions import variations_of
from reprokit.features.compare.describe import commit_told
from reprokit.features.compare.environments import with_environment
from reprokit.features.compare.imports import imported_from
from reprokit.features.compare.seals import Seals
from reprokit.features.compare.trees import SideTree, changed_submodules, is_same_tree, tree_of
from reprokit.harness.running.programs.program_files import may_see
from reprokit.harness.running.run_inputs import RunInputs, planned_inputs, whole_runs
from reprokit.harness.running.run_kinds import VariedRun, WholeRun
from reprokit.harness.running.start_command import among_others_in
from reprokit.harness.running.start_runs import ready_to_run, run_recipe
from reprokit.harness.sweeping.groups import make_ready
from reprokit.harness.sweeping.new_seeds import run_first_members
from reprokit.recipes import NO_VARIANT, Recipe, StatisticalMetric
from reprokit.request import Request
from reprokit.session import Session
from reprokit.variations import Variation


class SameSidesError(UsageError):
    """Both sides have the same files and settings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadySide:
    """A side that could run now.

    Attributes:
        asked: What was asked for.
        tree: Where its files are.
        recipe: Its recipe, with everything set.
        request: How it runs.
        session: Its project, and the progress of the command.
        host: What this machine is, and what its tree is.
        conditions: Deliberate changes of the conditions.
        inputs: What its numbers stand on; None where conditions are changed.
    """

    asked: SideAsked
    tree: SideTree
    recipe: Recipe
    request: Request
    session: Session
    host: MachineFacts
    conditions: tuple[Variation, ...]
    inputs: RunInputs | None = None

    @property
    def seed(self) -> int:
        return self.request.seed_of(self.recipe.seeds)


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeSides:
    """What came of making two sides.

    Attributes:
        runs: The run folders of each.
        commits: The commit of each, in words; "" where there is no repository.
        statistical: What the recipe of side a says is compared over seeds.
        equal_inputs: Nothing had to run.
        told: What each side is, where nothing had to run.
    """

    runs: Mapping[str, tuple[Path, ...]]
    commits: Mapping[str, str] = dataclasses.field(default_factory=dict)
    statistical: tuple[StatisticalMetric, ...] = ()
    equal_inputs: bool = False
    told: Mapping[str, str] = dataclasses.field(default_factory=dict)


def run_sides(
    name: str,
    asked: Mapping[str, SideAsked],
    request: Request,
    *,
    share: Sequence[str],
    num_seeds: int | None = None,
    seals: Seals,
    session: Session,
) -> MadeSides:
    """Run both sides of a recipe, unless they stand on the same inputs.

    With ``num_seeds`` each side runs once with so many seeds, from that of the recipe on.

    Raises:
        UsageError: A revision, setting or environment is unknown, or both sides are the same.
        CannotJudgeError: The recipe is absent on a side, or a side would run code of another tree.
        CannotRunError: An environment cannot be made here.
    """
    with ExitStack() as stack:
        trees = {
            side: stack.enter_context(tree_of(asked[side].revision, session.project, share=share))
            for side in SIDES
        }
        _must_have(name, trees)
        _must_have_same_submodules(name, trees)
        _must_differ(asked, trees)
        recipe_of = {side: _recipe(name, asked[side], trees[side], request) for side in SIDES}
        if num_seeds is not None:
            _must_fit_seeds(asked, recipe_of)
        ready = {}
        for side in SIDES:
            how: dict[str, Any] = {"stack": stack, "session": session}
            try:
                ready[side] = _ready(side, asked[side], trees[side], recipe_of[side], request, **how)
            except CannotRunError as error:
                what = f"side {side} cannot run: {error.told()}"
                raise CannotRunError(what, fix=error.fix) from error
        inputs = [ready[side].inputs for side in SIDES]
        if inputs[0] is not None and inputs[0] == inputs[1] and ready["a"].seed == ready["b"].seed:
            return MadeSides(
                runs=dict.fromkeys(SIDES, ()), equal_inputs=True, told={s: _told(ready[s]) for s in SIDES}
            )
        commits = {side: commit_told(ready[side].host) for side in SIDES}
        made: dict[str, tuple[Path, ...]] = dict.fromkeys(SIDES, ())
        for side in SIDES:
            session.progress.note(f"side {side}: {_told(ready[side])}")
            if num_seeds is None:
                made[side] = _finished(ready[side]) or tuple(_made(ready[side]))
            else:
                made[side] = _over_seeds(ready[side], first=ready["a"].seed, num_seeds=num_seeds)
            for folder in made[side]:
                seals.close(folder)
            if not all(runs.read(folder, verify=False).record.completed for folder in made[side]):
                break
        return MadeSides(runs=made, commits=commits, statistical=recipe_of["a"].statistical)


def _must_differ(asked: Mapping[str, SideAsked], trees: Mapping[str, SideTree]) -> None:
    one, two = (dataclasses.replace(asked[side], revision=None) for side in SIDES)
    if one == two and is_same_tree(trees["a"], trees["b"]):
        commit = trees["a"].commit or trees["b"].commit or "the working tree"
        raise SameSidesError(
            "the two sides are the same commit with the same settings",
            where=commit,
            fix="name another with --a or --b, or set something on one side, such as --b-set PATH=VALUE",
        )


def _must_have(name: str, trees: Mapping[str, SideTree]) -> None:
    there = {side: trees[side].has_recipe(name) for side in SIDES}
    if any(there.values()) and not all(there.values()):
        absent = next(side for side in SIDES if not there[side])
        raise CannotJudgeError(
            f"the recipe {name} is not there on side {absent}, so nothing can be compared",
            where=trees[absent].commit or str(trees[absent].root),
            fix="name a commit that has it",
        )


def _recipe(name: str, asked: SideAsked, tree: SideTree, request: Request) -> Recipe:
    """The recipe of a side, with everything set."""
    recipes_dir = tree.project.recipes_dir
    plain = recipes.load(name, recipes_dir=recipes_dir, overrides=request.overrides)
    overrides = (*request.overrides, *overrides_of(asked, plain))
    return recipes.load(name, recipes_dir=recipes_dir, overrides=overrides)


def _must_fit_seeds(asked: Mapping[str, SideAsked], recipe_of: Mapping[str, Recipe]) -> None:
    """Refuse what cannot be compared over seeds before anything is made."""
    if any(one.threads is not None or one.cpu is not None for one in asked.values()):
        raise UsageError(
            "--seeds compares trees, settings and packages; threads and CPUs are compared in bits"
        )
    for side in SIDES:
        if not recipe_of[side].statistical:
            raise UsageError(
                f"the recipe of side {side} does not say what is compared over seeds",
                where=recipe_of[side].where("statistical"),
                expected="`statistical: {metric: …, window: last, margin: …, direction: higher}`",
            )


def _must_have_same_submodules(name: str, trees: Mapping[str, SideTree]) -> None:
    """Refuse what no run would show: a program never has the files of a submodule."""
    changed = changed_submodules(trees["a"], trees["b"])
    if not changed:
        return
    both = [recipes.load(name, recipes_dir=trees[side].project.recipes_dir) for side in SIDES]
    for path in changed:
        if any(may_see(recipe, path) for recipe in both):
            raise CannotJudgeError(
                f"the submodule {path} differs between the sides, and no run has its files",
                where=both[-1].where("sees"),
                fix="name the files that the program reads under `sees`, or put those of the submodule "
                "into the project",
            )


def _ready(
    side: str,
    asked: SideAsked,
    tree: SideTree,
    recipe: Recipe,
    request: Request,
    *,
    stack: ExitStack,
    session: Session,
) -> ReadySide:
    unpinned = recipe.variant == NO_VARIANT and tree.commit is not None
    if unpinned and (found := imported_from(session.project.root, recipe)):
        raise CannotJudgeError(
            f"side {side} would import code of the working tree in place of its own: {found}",
            fix="pin its environment: `reprokit image lock NAME --dependencies …`",
        )
    if asked.needs_lock and recipe.variant != NO_VARIANT:
        tree = stack.enter_context(with_environment(asked, recipe.variant, tree, session=session))
    elif asked.lock or asked.packages:
        raise UsageError(
            f"side {side} has no lock to change: its variant is none", where=recipe.where("variant")
        )
    here = dataclasses.replace(session, project=tree.project)
    host = capture.capture_host(tree.root)
    conditions = variations_of(asked, recipe, request)
    ready = ReadySide(
        asked=asked,
        tree=tree,
        recipe=recipe,
        request=dataclasses.replace(request, overrides=recipe.asked, repeats=2),
        session=here,
        host=host,
        conditions=conditions,
    )
    return ready if conditions else dataclasses.replace(ready, inputs=_inputs(ready))


def _inputs(ready: ReadySide) -> RunInputs:
    """What its numbers will stand on: the environment is made for this."""
    prepared, host = ready_to_run(
        ready.recipe, ready.request, WholeRun(repeats=2), session=ready.session, host=ready.host
    )
    return planned_inputs(prepared.plan.specs[0], facts=prepared.plan.facts, host=host)


def _finished(ready: ReadySide) -> tuple[Path, ...]:
    """The newest two finished runs of exactly this side, where there are two."""
    if ready.inputs is None:
        return ()
    runs_dir = ready.session.project.runs_dir
    found = [
        one.path
        for one in whole_runs(runs_dir, recipe=ready.recipe.name)
        if one.seed == ready.seed
        and one.inputs == ready.inputs
        and one.asked == ready.recipe.asked
        and runs.read(one.path).complete
    ]
    if len(found) < 2:
        return ()
    ready.session.progress.note("earlier runs of the same inputs are used again")
    return tuple(found[-2:])


def _made(ready: ReadySide) -> Iterator[Path]:
    """Two new runs."""
    how: dict[str, Any] = {"session": ready.session, "host": ready.host}
    if not ready.conditions:
        yield from run_recipe(ready.recipe, ready.request, WholeRun(repeats=2), **how)
        return
    for number in (1, 2):
        kind = VariedRun(number=number, chosen=ready.conditions)
        yield from run_recipe(ready.recipe, ready.request, kind, **how)


def _over_seeds(ready: ReadySide, *, first: int, num_seeds: int) -> tuple[Path, ...]:
    """A run for each seed, those made that are not there yet."""
    seeds = tuple(range(first, first + num_seeds))
    session = ready.session
    with among_others_in(session.project, note=session.progress.note):
        group = make_ready(
            ready.recipe, ready.request, seeds=lambda _: seeds, host=ready.host, session=session
        )
        if group.problem:
            raise CannotRunError(group.problem)
        return run_first_members(group, num_seeds, session=session, same_overrides=True)


def _told(ready: ReadySide) -> str:
    parts = [f"commit {ready.tree.commit[:12]}" if ready.tree.commit else "the working tree"]
    parts += ready.recipe.modified
    parts += [one.says for one in ready.conditions]
    return ", ".join(parts)
