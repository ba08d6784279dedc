"""Both sides of a recipe made ready: each from its own tree, in its own environment."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reprokit import recipes
from reprokit.errors import CannotJudgeError, CannotRunError, UsageError
from reprokit.features.compare.answer import SIDES
from reprokit.features.compare.asked import SideAsked, overrides_of
from reprokit.features.compare.conditions import variations_of
from reprokit.features.compare.describe import commit_told
from reprokit.features.compare.environments import with_environment
from reprokit.features.compare.imports import imported_from
from reprokit.features.compare.rounding.twin_runs import MakeRun
from reprokit.features.compare.seals import Seals
from reprokit.features.compare.side_runs import ReadySide, made_sides, one_more_run, seeds_of_sides
from reprokit.features.compare.trees import SideTree, changed_submodules, is_same_tree, trees_of
from reprokit.harness.running.environments.environment import backend_of
from reprokit.harness.running.programs.program_files import may_see
from reprokit.harness.running.run_inputs import planned_inputs
from reprokit.harness.running.run_kinds import RunKind, VariedRun, WholeRun
from reprokit.harness.running.start_runs import ready_to_run
from reprokit.recipes import NO_VARIANT, Recipe, StatisticalMetric
from reprokit.request import Request
from reprokit.session import Session
from reprokit.variations import Variation


class SameSidesError(UsageError):
    """Both sides have the same files and settings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeSides:
    """What came of making two sides.

    Attributes:
        runs: The run folders of each.
        commits: The commit of each, in words; "" where there is no repository.
        working_tree: Where the working tree is, whose code no side of a commit may use; "" without a commit.
        statistical: What the recipe of side a says is compared over seeds.
        equal_inputs: Nothing had to run.
        told: What each side is, where nothing had to run.
    """

    runs: Mapping[str, tuple[Path, ...]]
    commits: Mapping[str, str] = dataclasses.field(default_factory=dict)
    working_tree: str = ""
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
    aside: ThreadPoolExecutor,
    session: Session,
    and_then: Callable[[Mapping[str, tuple[Path, ...]], MakeRun], None] | None = None,
) -> MadeSides:
    """Run both sides of a recipe, unless they stand on the same inputs.

    With ``num_seeds`` each side runs once with so many seeds, from that of the recipe on.

    Raises:
        UsageError: A revision, setting or environment is unknown, or both sides are the same.
        CannotJudgeError: The recipe is absent on a side, or a side would run code of another tree.
        CannotRunError: An environment cannot be made here.
    """
    with ExitStack() as stack:
        revisions = {side: asked[side].revision for side in SIDES}
        trees = stack.enter_context(trees_of(revisions, session.project, share=share, aside=aside))
        ready = _both_ready(
            name, asked, trees, request, over_seeds=num_seeds is not None, stack=stack, session=session
        )
        inputs = [ready[side].inputs for side in SIDES]
        if inputs[0] is not None and inputs[0] == inputs[1] and ready["a"].seed == ready["b"].seed:
            return MadeSides(
                runs=dict.fromkeys(SIDES, ()), equal_inputs=True, told={s: ready[s].told for s in SIDES}
            )
        if num_seeds is None:
            made = made_sides(ready, seals=seals)
        else:
            made = seeds_of_sides(ready, num_seeds=num_seeds, seals=seals)
        if and_then is not None and all(made.values()):
            and_then(made, _makes_runs(ready["a"], seals))
        has_commit = any(tree.commit for tree in trees.values())
        return MadeSides(
            runs=made,
            commits={side: commit_told(ready[side].tree.host) for side in SIDES},
            working_tree=str(session.project.root.resolve()) if has_commit else "",
            statistical=ready["a"].recipe.statistical,
        )


def ready_side(
    name: str, asked: SideAsked, tree: SideTree, request: Request, *, stack: ExitStack, session: Session
) -> ReadySide:
    """One side alone, ready to run.

    Raises:
        ReprokitError: The tree has no such recipe, or its environment cannot be made.
    """
    with tree.named_by_commit(), session.phase("environment"):
        recipe = _recipe(name, asked, tree, request)
        return _ready("a", asked, tree, recipe, request, stack=stack, session=session)


def _makes_runs(ready: ReadySide, seals: Seals) -> MakeRun:
    """Further runs of a side under a variation."""

    def make(variation: Variation, number: int) -> Path:
        kind = VariedRun(number=number + 2, chosen=(*ready.conditions, variation))
        return one_more_run(ready, kind, seals=seals)

    return make


def _both_ready(
    name: str,
    asked: Mapping[str, SideAsked],
    trees: Mapping[str, SideTree],
    request: Request,
    *,
    over_seeds: bool,
    stack: ExitStack,
    session: Session,
) -> dict[str, ReadySide]:
    _must_have(name, trees)
    _must_have_same_submodules(name, trees)
    _must_differ(asked, trees)
    recipe_of = {}
    for side in SIDES:
        with trees[side].named_by_commit():
            recipe_of[side] = _recipe(name, asked[side], trees[side], request)
    if over_seeds:
        _must_fit_seeds(asked, recipe_of)
    how: dict[str, Any] = {"stack": stack, "session": session}
    ready = {}
    for side in SIDES:
        try:
            with trees[side].named_by_commit(), session.phase("environment"):
                ready[side] = _ready(side, asked[side], trees[side], recipe_of[side], request, **how)
        except CannotRunError as error:
            what = f"side {side} cannot run: {error.told()}"
            raise CannotRunError(what, fix=error.fix) from error
    return ready


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
    _must_import_own_code(side, tree, recipe, session=session)
    if asked.needs_lock and recipe.variant != NO_VARIANT:
        tree = stack.enter_context(with_environment(asked, recipe.variant, tree, session=session))
    elif asked.lock or asked.packages:
        raise UsageError(
            f"side {side} has no lock to change: its variant is none", where=recipe.where("variant")
        )
    # A container sees nothing above its own folders, and is found by the runs folder if the tool is killed.
    is_local = backend_of(recipe, request) == "local"
    project = dataclasses.replace(tree.project, runs_dir=tree.runs_dir) if is_local else tree.project
    here = dataclasses.replace(session, project=project)
    request = dataclasses.replace(request, overrides=recipe.asked, repeats=2)
    conditions = variations_of(asked, recipe, request)
    kinds: list[RunKind] = [VariedRun(number=number, chosen=conditions) for number in (1, 2)]
    kinds = kinds if conditions else [WholeRun(repeats=2)]
    prepared = [(kind, ready_to_run(recipe, request, kind, session=here, host=tree.host)) for kind in kinds]
    first, host = prepared[0][1]
    inputs = None if conditions else planned_inputs(first.plan.specs[0], facts=first.plan.facts, host=host)
    return ReadySide(
        tree=tree,
        recipe=recipe,
        request=request,
        session=here,
        home=session.project.runs_dir,
        conditions=conditions,
        prepared=tuple(prepared),
        inputs=inputs,
    )


def _must_import_own_code(side: str, tree: SideTree, recipe: Recipe, *, session: Session) -> None:
    unpinned = recipe.variant == NO_VARIANT and tree.commit is not None
    if unpinned and (found := imported_from(session.project.root, recipe)):
        raise CannotJudgeError(
            f"side {side} would import code of the working tree in place of its own: {found}",
            fix="pin its environment: `reprokit image lock NAME --dependencies …`",
        )
