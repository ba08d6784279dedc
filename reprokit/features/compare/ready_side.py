"""One side of a recipe made ready, or found to have its runs already.

Of a side that has them only the files are needed that tell what its runs stand on: no program of it starts.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator
from contextlib import ExitStack

from reprokit import recipes
from reprokit.errors import CannotJudgeError, ReprokitError, UsageError
from reprokit.features.compare.asked import SideAsked, overrides_of
from reprokit.features.compare.conditions import variations_of
from reprokit.features.compare.environments import with_environment
from reprokit.features.compare.imports import imported_from
from reprokit.features.compare.side_runs import ReadySide, has_runs
from reprokit.features.compare.trees import SideTree, trees_of
from reprokit.harness.running.environments.environment import backend_of
from reprokit.harness.running.run_inputs import planned_inputs
from reprokit.harness.running.run_kinds import RunKind, VariedRun, WholeRun
from reprokit.harness.running.start_runs import ready_to_run
from reprokit.recipes import NO_VARIANT, Recipe
from reprokit.request import Request
from reprokit.session import Session


def known_side(
    name: str,
    side: str,
    asked: SideAsked,
    tree: SideTree,
    request: Request,
    *,
    stack: ExitStack,
    session: Session,
) -> ReadySide | None:
    """A side of a trainer whose runs are there; None where that cannot be said of a part of its tree.

    The digest of its inputs is over the files that are read for it: with one missing it would be another one.
    """
    if asked.needs_lock:  # it is solved but once
        return None
    with contextlib.suppress(ReprokitError):  # told of the whole tree, where it is so there too
        recipe = recipe_on(name, asked, tree, request)
        if recipe.trainer is not None:
            ready = ready_side(side, asked, tree, recipe, request, stack=stack, session=session)
            return ready if has_runs(ready) else None
    return None


def recipe_on(name: str, asked: SideAsked, tree: SideTree, request: Request) -> Recipe:
    """The recipe of a side, with everything set."""
    recipes_dir = tree.project.recipes_dir
    plain = recipes.load(name, recipes_dir=recipes_dir, overrides=request.overrides)
    own = overrides_of(asked, plain)
    if not own:
        return plain
    return recipes.load(name, recipes_dir=recipes_dir, overrides=(*request.overrides, *own))


def ready_side(
    side: str,
    asked: SideAsked,
    tree: SideTree,
    recipe: Recipe,
    request: Request,
    *,
    stack: ExitStack,
    session: Session,
) -> ReadySide:
    """A side that could run now.

    Raises:
        UsageError: It has no lock to change, or its conditions cannot be changed so.
        CannotJudgeError: It would run code of another tree.
        CannotRunError: Its environment cannot be made here.
    """
    _must_import_own_code(side, tree, recipe, session=session)
    is_local = backend_of(recipe, request) == "local"
    if asked.needs_lock and recipe.variant != NO_VARIANT:
        changed = with_environment(asked, recipe.variant, tree, in_container=not is_local, session=session)
        tree = stack.enter_context(changed)
    elif asked.lock or asked.packages:
        raise UsageError(
            f"side {side} has no lock to change: its variant is none", where=recipe.where("variant")
        )
    # A container sees nothing above its own folders, and is found by the runs folder if the tool is killed.
    project = dataclasses.replace(tree.project, runs_dir=tree.runs_dir) if is_local else tree.project
    here = dataclasses.replace(session, project=project)
    request = dataclasses.replace(request, overrides=recipe.asked, repeats=2)
    conditions = variations_of(asked, recipe, request)
    kinds: list[RunKind] = [VariedRun(number=number, chosen=conditions) for number in (1, 2)]
    kinds = kinds if conditions else [WholeRun(repeats=2)]
    with session.phase("environment"):
        prepared = [
            (kind, ready_to_run(recipe, request, kind, session=here, host=tree.host)) for kind in kinds
        ]
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


@contextlib.contextmanager
def side_of_commit(name: str, commit: str, request: Request, *, session: Session) -> Iterator[ReadySide]:
    """A recipe at a commit, ready to run in a work tree of its own.

    Raises:
        ReprokitError: The commit has no such recipe, or its environment cannot be made here.
    """
    with ExitStack() as stack:
        coming = trees_of({"a": commit}, session.project, share=(), may_be_known=None)
        tree, asked = stack.enter_context(coming).tree("a"), SideAsked(revision=commit)
        with tree.named_by_commit():
            recipe = recipe_on(name, asked, tree, request)
            ready = ready_side("a", asked, tree, recipe, request, stack=stack, session=session)
        yield ready


def _must_import_own_code(side: str, tree: SideTree, recipe: Recipe, *, session: Session) -> None:
    unpinned = recipe.variant == NO_VARIANT and tree.commit is not None
    if unpinned and (found := imported_from(session.project.root, recipe)):
        raise CannotJudgeError(
            f"side {side} would import code of the working tree in place of its own: {found}",
            fix="pin its environment: `reprokit image lock NAME --dependencies …`",
        )
