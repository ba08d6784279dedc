"""Both sides of a recipe made ready: each from its own tree, in its own environment."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reprokit import recipes, runs
from reprokit.errors import CannotJudgeError, CannotRunError, ReportError, ReprokitError, UsageError
from reprokit.features.compare.answer import SIDES
from reprokit.features.compare.asked import SideAsked
from reprokit.features.compare.describe import commit_told
from reprokit.features.compare.ready_side import known_side, ready_side, recipe_on
from reprokit.features.compare.rounding.checkpoint_runs import MakeFrom
from reprokit.features.compare.rounding.twin_runs import MakeRun
from reprokit.features.compare.seals import Seals
from reprokit.features.compare.side_runs import (
    ReadySide,
    made_sides,
    one_more_run,
    seeds_of_sides,
)
from reprokit.features.compare.tree_parts import Part
from reprokit.features.compare.trees import ComingTrees, SideTree, changed_submodules, is_same_tree
from reprokit.harness.running.environments.environment import backend_of
from reprokit.harness.running.programs.program_files import may_see
from reprokit.harness.running.run_kinds import ResumePoint, VariedRun
from reprokit.recipes import Recipe, StatisticalMetric
from reprokit.redaction import redact
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
        recipes: The recipe of a side as data, where its runs are earlier ones that say something else.
        statistical: What the recipe of side a says is compared over seeds.
        equal_inputs: Nothing had to run.
        told: What each side is, where nothing had to run.
    """

    runs: Mapping[str, tuple[Path, ...]]
    commits: Mapping[str, str] = dataclasses.field(default_factory=dict)
    working_tree: str = ""
    recipes: Mapping[str, Mapping[str, Any]] = dataclasses.field(default_factory=dict)
    statistical: tuple[StatisticalMetric, ...] = ()
    equal_inputs: bool = False
    told: Mapping[str, str] = dataclasses.field(default_factory=dict)


def run_sides(
    name: str,
    asked: Mapping[str, SideAsked],
    request: Request,
    *,
    coming: ComingTrees,
    num_seeds: int | None = None,
    seals: Seals,
    session: Session,
    and_then: Callable[[Mapping[str, tuple[Path, ...]], Mapping[str, MakeRun]], None] | None = None,
    and_from: Callable[[Mapping[str, tuple[Path, ...]], Mapping[str, MakeFrom]], None] | None = None,
) -> MadeSides:
    """Run both sides of a recipe, unless they stand on the same inputs.

    With ``num_seeds`` each side runs once with so many seeds, from that of the recipe on. The trees begin to
    be removed when it ends well. ``and_then`` makes further runs, ``and_from`` those that begin from a
    checkpoint.

    Raises:
        UsageError: A revision, setting or environment is unknown, both sides are the same, or an unmodified
            program would begin from a checkpoint.
        CannotJudgeError: The recipe is absent on a side, or a side would run code of another tree.
        CannotRunError: An environment cannot be made here.
    """
    with ExitStack() as stack:
        stack.callback(coming.remove)
        how: dict[str, Any] = {"stack": stack, "session": session}
        known = _known(name, asked, coming, request, **how)
        trees = {side: coming.tree(side) for side in SIDES}
        ready = _both_ready(name, asked, trees, request, known=known, over_seeds=num_seeds is not None, **how)
        if and_from is not None:
            _must_be_trainers(ready)
        if _have_equal_inputs(ready, trees):
            return MadeSides(
                runs=dict.fromkeys(SIDES, ()), equal_inputs=True, told={s: ready[s].told for s in SIDES}
            )
        if num_seeds is None:
            made = made_sides(ready, seals=seals)
        else:
            made = seeds_of_sides(ready, num_seeds=num_seeds, seals=seals)
        if and_then is not None and all(made.values()):
            and_then(made, {side: _makes_runs(ready[side], seals) for side in SIDES})
        if and_from is not None and all(made.values()):
            and_from(made, {side: _makes_from(ready[side], seals) for side in SIDES})
        has_commit = any(tree.commit for tree in trees.values())
        return MadeSides(
            runs=made,
            commits={side: commit_told(ready[side].tree.host) for side in SIDES},
            working_tree=str(session.project.root.resolve()) if has_commit else "",
            recipes=dict(_recipes_now(ready, made)),
            statistical=ready["a"].recipe.statistical,
        )


def _have_equal_inputs(ready: Mapping[str, ReadySide], trees: Mapping[str, SideTree]) -> bool:
    """Whether both sides stand on the same, so that nothing need run.

    A program on this host can read more of its tree than its inputs hold, such as what lies in `docs`.
    """
    one, two = (ready[side].inputs for side in SIDES)
    if one is None or one != two or ready["a"].seed != ready["b"].seed:
        return False
    return all(ready[side].has_all_inputs for side in SIDES) or is_same_tree(trees["a"], trees["b"])


def _recipes_now(
    ready: Mapping[str, ReadySide], made: Mapping[str, Sequence[Path]]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The recipes that are not as the runs have them: a title, say, is none of the inputs of a run."""
    for side in filter(made.get, SIDES):
        now = redact(dict(ready[side].recipe.plain))
        with suppress(ReportError):  # removed by a later program, which is told of elsewhere
            if now != runs.read(made[side][0], verify=False).record.recipe_data:
                yield side, now


def _known(
    name: str, asked: Mapping[str, SideAsked], coming: ComingTrees, request: Request, **how: Any
) -> dict[str, ReadySide]:
    """Sides of trees that are not whole whose runs are there, found while the other tree is made."""
    found = {
        side: known_side(name, side, asked[side], coming.tree(side), request, **how)
        for side in coming.in_part
    }
    return {side: ready for side, ready in found.items() if ready is not None}


def _makes_runs(ready: ReadySide, seals: Seals) -> MakeRun:
    """Further runs of a side under a variation."""

    def make(variation: Variation, number: int) -> Path:
        kind = VariedRun(number=number + 2, chosen=(*ready.conditions, variation))
        return one_more_run(ready, kind, seals=seals)

    return make


def _makes_from(ready: ReadySide, seals: Seals) -> MakeFrom:
    """Further runs of a side that begin from a checkpoint, in the environment of the side."""
    realisation = ready.prepared[0][1][0].environment.realisation
    own_lock = realisation.lock_digest if realisation else ""

    def make(point: ResumePoint, variation: Variation | None, number: int) -> Path:
        chosen = (*ready.conditions, *([variation] if variation else []))
        own = dataclasses.replace(point, lock_digest=own_lock)
        kind = VariedRun(number=number + 2, chosen=chosen, point=own)
        return one_more_run(ready, kind, seals=seals)

    return make


def _must_be_trainers(ready: Mapping[str, ReadySide]) -> None:
    for side in SIDES:
        if (recipe := ready[side].recipe).trainer is None:
            raise UsageError(
                f"side {side} is an unmodified program, whose checkpoints are known to it alone",
                where=recipe.where("command"),
                fix="leave out --from-checkpoint",
            )


def _both_ready(
    name: str,
    asked: Mapping[str, SideAsked],
    trees: Mapping[str, SideTree],
    request: Request,
    *,
    known: Mapping[str, ReadySide],
    over_seeds: bool,
    stack: ExitStack,
    session: Session,
) -> dict[str, ReadySide]:
    _must_have(name, trees)
    _must_have_same_submodules(name, trees)
    _must_differ(asked, trees)
    trees = _with_needed(name, asked, trees, request, but=known)
    recipe_of = {}
    for side in SIDES:
        with trees[side].named_by_commit():
            recipe_of[side] = recipe_on(name, asked[side], trees[side], request)
        _must_have_contents(side, trees[side], recipe_of[side])
    _must_differ_once_set(asked, trees, recipe_of)
    if over_seeds:
        _must_fit_seeds(asked, recipe_of)
    ready = dict(known)
    how: dict[str, Any] = {"stack": stack, "session": session}
    for side in SIDES:
        if side not in ready:
            try:
                ready[side] = _ready(side, asked[side], trees[side], recipe_of[side], request, **how)
            except CannotRunError:
                raise
            except ReprokitError:  # told of the whole tree, where it is so there too
                if trees[side].part is Part.WHOLE:
                    raise
                tree = trees[side].with_part(Part.WHOLE)
                ready[side] = _ready(side, asked[side], tree, recipe_of[side], request, **how)
    return ready


def _with_needed(
    name: str,
    asked: Mapping[str, SideAsked],
    trees: Mapping[str, SideTree],
    request: Request,
    *,
    but: Container[str],
) -> dict[str, SideTree]:
    """The trees with every file that a run of their side can see; sides of one commit have one tree."""
    parts: dict[str | None, Part] = {}
    for side in SIDES:
        if side not in but:
            commit, part = trees[side].commit, _part_needed(name, asked[side], trees[side], request)
            parts[commit] = max(part, parts.get(commit, part))
    first = {tree.commit: tree for tree in trees.values()}
    made = {commit: first[commit].with_part(part) for commit, part in parts.items()}
    return {side: made.get(tree.commit, tree) for side, tree in trees.items()}


def _part_needed(name: str, asked: SideAsked, tree: SideTree, request: Request) -> Part:
    """Of a trainer in a container what is mounted there; of every other program all files."""
    if tree.part is not Part.WHOLE:
        with suppress(ReprokitError):  # told of the whole tree, where it is so there too
            recipe = recipe_on(name, asked, tree, request)
            if recipe.trainer is not None and backend_of(recipe, request) == "docker":
                return Part.MOUNTED
    return Part.WHOLE


def _ready(
    side: str, asked: SideAsked, tree: SideTree, recipe: Recipe, request: Request, **how: Any
) -> ReadySide:
    try:
        with tree.named_by_commit():
            return ready_side(side, asked, tree, recipe, request, **how)
    except CannotRunError as error:
        what = f"side {side} cannot run: {error.told()}"
        raise CannotRunError(what, fix=error.fix) from error


def _must_differ(asked: Mapping[str, SideAsked], trees: Mapping[str, SideTree]) -> None:
    one, two = (dataclasses.replace(asked[side], revision=None) for side in SIDES)
    if one == two and is_same_tree(trees["a"], trees["b"]):
        raise _same_sides(trees)


def _must_differ_once_set(
    asked: Mapping[str, SideAsked], trees: Mapping[str, SideTree], recipe_of: Mapping[str, Recipe]
) -> None:
    """Refuse what is set to what it is already, such as no arguments or the recipe's own variant."""
    in_recipe: dict[str, Any] = {"revision": None, "overrides": (), "arguments": None, "variant": None}
    one, two = (dataclasses.replace(asked[side], **in_recipe) for side in SIDES)
    is_same_recipe = recipe_of["a"].plain == recipe_of["b"].plain
    if one == two and is_same_recipe and is_same_tree(trees["a"], trees["b"]):
        raise _same_sides(trees)


def _same_sides(trees: Mapping[str, SideTree]) -> SameSidesError:
    return SameSidesError(
        "the two sides are the same commit with the same settings",
        where=trees["a"].commit or trees["b"].commit or "the working tree",
        fix="name another with --a or --b, or set something on one side that it is not yet, such as "
        "--b-set PATH=VALUE",
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


def _must_have_contents(side: str, tree: SideTree, recipe: Recipe) -> None:
    """Refuse a side whose program would read pointers of git-lfs in place of what they name."""
    for name in tree.pointers:
        if may_see(recipe, name):
            raise CannotJudgeError(
                f"side {side} has no content of {name}, which git-lfs keeps",
                where=str(tree.commit),
                fix=f"`git lfs fetch origin {tree.commit}`, or name the files that the program reads "
                "under `sees`",
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
