"""The commit that changed a recipe's numbers: ``git bisect`` in a work tree of its own.

A commit is good when its metrics agree with the reference run's, those of the good commit, within the
tolerances of the good commit's recipe (its own could hide what it changed); bad when its run finishes and
they do not; skipped when it cannot run. Commits that touch nothing that numbers depend on are trained once.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from reprokit.capture import git_history
from reprokit.core.records import digest
from reprokit.core.report_parts import FileChange
from reprokit.core.verdicts.comparability import Objection
from reprokit.errors import CannotJudgeError, CannotRunError, MetricsError, UsageError, WorkspaceError
from reprokit.feature import offered
from reprokit.harness.attribution import own_environment, worktree_run
from reprokit.harness.attribution.compared_runs import CACHE, KeptMetrics, difference, platforms_of
from reprokit.harness.judging.differences import what_changed
from reprokit.harness.running.environments.environment import backend_of
from reprokit.harness.running.numbers import environment_digest, tree_digest, tree_paths_of
from reprokit.project import Project, project_folder
from reprokit.recipes import NO_VARIANT, Recipe
from reprokit.request import Request
from reprokit.session import Progress, Session

_UNPINNED = "unpinned-"
_FOUND = re.compile(r"^# (?:possible )?first bad commit: \[([0-9a-f]{7,64})\]", re.MULTILINE)
GOOD, BAD, SKIPPED = "good", "bad", "skip"
_TWICE = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class TestedCommit:
    """A commit and what its run came to: ``good``, ``bad`` or ``skip``, where it parts, or why."""

    commit: str
    subject: str
    result: str
    detail: str = ""
    trained: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class SuspectCommit:
    """A commit that changed the numbers, or may have: what it changed of what they stand on."""

    commit: str
    subject: str
    settings: tuple[str, ...] = ()
    files: tuple[FileChange, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Bisection:
    """The guilty commit, or several where those between cannot run; and all that were tested, in order."""

    guilty: tuple[SuspectCommit, ...]
    tested: tuple[TestedCommit, ...]
    good: str
    bad: str


@dataclass(slots=True)
class _Search:
    """What is known so far.

    Attributes:
        failed: What a commit stands on → why it cannot run.
        own: A commit, or what it stands on → that its run was in an environment of its own files.
        why_not_rounding: Metrics → why they differ from the good commit's by more than rounding; "" where by
            rounding alone. None where every difference counts.
        environment: What the good commit's environment is made from.
    """

    name: str
    request: Request
    project: Project
    progress: Progress
    tree: Path
    scratch: Path
    platforms: tuple[str, ...]
    tested: list[TestedCommit] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    recipes: dict[str, Recipe] = field(default_factory=dict)
    backends: dict[str, str] = field(default_factory=dict)
    own: dict[str, str] = field(default_factory=dict)
    why_not_rounding: Callable[[Path], str] | None = None
    environment: str = ""


def bisect(
    name: str, *, good: str, bad: str, request: Request, session: Session, ignore_rounding: bool = False
) -> Bisection:
    """Find the commit that changed the numbers of a recipe; ``runs/.bisect`` remembers what was trained.

    With ``ignore_rounding`` a commit is good where twins of the good commit show that its numbers differ by
    rounding alone; where its environment is another one, or that is not shown, it is bad.

    Raises:
        UsageError: One of the commits is not there, or git refuses.
        CannotRunError: Good or bad cannot run.
        CannotJudgeError: The good commit does not repeat its own numbers, or bad has them too; or the commit
            that was found, or the one before it, comes to something else when it is trained once more.
    """
    first, last = (
        git_history.resolve(session.project.root, good),
        git_history.resolve(session.project.root, bad),
    )
    chosen = replace(request, repeats=1)
    scratch = Path(tempfile.mkdtemp(prefix="reprokit-bisect-"))
    try:
        with git_history.worktree(session.project.root, commit=first) as tree:
            search = _Search(
                name=name,
                request=chosen,
                project=session.project,
                progress=session.progress,
                tree=tree,
                scratch=scratch,
                platforms=platforms_of(request, session.project),
            )
            reference = _reference_run(search, first)
            if ignore_rounding:
                _make_twins(search, first, reference, session=session)
            _must_differ(search, last, reference)
            guilty = _drive(search, first, last, reference)
            if len(guilty) == 1:
                _must_show_again(search, guilty[0], reference)
            named = tuple(_guilty(search, commit) for commit in guilty)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return Bisection(guilty=named, tested=tuple(search.tested), good=first, bad=last)


def _reference_run(search: _Search, commit: str) -> Path:
    """The good commit's metrics, trained twice: what does not repeat itself measures nothing."""
    metrics, why, trained = _metrics(search, commit)
    if metrics is None:
        raise CannotRunError(f"the good commit cannot run: {why}", where=commit[:12])
    kept = search.scratch / "good.jsonl"
    shutil.copyfile(metrics, kept)
    key = _key(search, search.recipes[commit])
    known = _kept(search, key)
    if known.num_runs < _TWICE:
        again, why = _train(search, search.recipes[commit], key)
        if again is None:
            raise CannotRunError(f"the good commit cannot run: {why}", where=commit[:12])
        if kept.read_bytes() != again.read_bytes():
            known.drop()
            raise CannotJudgeError(
                "the good commit does not repeat its own numbers, so no commit can be blamed",
                where=commit[:12],
                fix=f"`reprokit reproduce {search.name}` on it says where its runs differ",
            )
        known.keep(again, runs=_TWICE)
        trained = True
    _note(search, commit, GOOD, "the reference run", trained=trained)
    return kept


def _make_twins(search: _Search, commit: str, reference: Path, *, session: Session) -> None:
    judge_from = offered("rounding_from_commit")
    if judge_from is None:
        raise UsageError("nothing that is installed here judges rounding", fix="leave out --ignore rounding")
    search.environment = _environment(search, commit)
    project = replace(session.project, runs_dir=search.scratch / "twins")
    there = replace(session, project=project)
    search.why_not_rounding = judge_from(search.name, commit, reference, search.request, session=there)


def _environment(search: _Search, commit: str) -> str:
    variant = search.recipes[commit].variant
    return "" if variant == NO_VARIANT else environment_digest(search.tree, variant)


def _must_differ(search: _Search, commit: str, reference: Path) -> None:
    _check_out(search, commit)
    result, detail = _judged(search, commit, reference)
    if result == SKIPPED:
        raise CannotRunError(f"the bad commit cannot run: {detail}", where=commit[:12])
    if result == GOOD:
        raise CannotJudgeError(
            "the bad commit has the numbers of the good one, so there is nothing to find",
            where=commit[:12],
            fix="name a commit, seed and settings whose numbers differ",
        )


def _drive(search: _Search, good: str, bad: str, reference: Path) -> tuple[str, ...]:
    """``git bisect`` until it names a commit, or those that are left when none of them can run."""
    git_history.git(search.tree, "bisect", "start", bad, good)
    while not (found := _FOUND.findall(git_history.git(search.tree, "bisect", "log"))):
        commit = git_history.resolve(search.tree, "HEAD")
        if any(one.commit == commit for one in search.tested):
            raise UsageError(f"git bisect asks about {commit[:12]} twice", fix="is good an ancestor of bad?")
        result, _ = _judged(search, commit, reference)
        ended = git_history.run_git(search.tree, "bisect", result)
        if ended.returncode not in {0, 2}:  # 2: only skipped commits are left
            raise UsageError(f"git bisect {result}: {ended.stderr.strip() or ended.stdout.strip()}")
    return tuple(found)


def _must_show_again(search: _Search, guilty: str, reference: Path) -> None:
    """Train the commit and the one before it once more: one run of each decided, which may be by chance."""
    parent = _parent(search, guilty)
    kept = {one: found for one in (parent, guilty) if one and (found := _kept_of(search, one))}
    if all(one.num_runs >= _TWICE for one in kept.values()):
        return  # by an earlier search
    for commit, known in kept.items():
        _check_out(search, commit)
        search.progress.note(f"{commit[:12]} once more")
        again, why = _train(search, search.recipes[commit], known.folder.name)
        if again is None:
            raise CannotRunError(f"a commit that ran cannot run again: {why}", where=commit[:12])
        if _result(search, commit, again, reference)[0] == (GOOD if commit == parent else BAD):
            known.keep(again, runs=_TWICE)
            continue
        known.drop()
        if commit == parent and commit not in {one.commit for one in search.tested}:
            raise CannotJudgeError(
                f"{guilty[:12]} differs, and so does the commit before it, from which its branch began "
                "before the good one: neither can be blamed for what the good one changed",
                where=commit[:12],
                fix="name a good commit that this branch has too, or a bad one before the merge",
            )
        raise CannotJudgeError(
            "the same commit has other numbers when it is trained again, so no commit can be blamed",
            where=commit[:12],
            fix=f"`reprokit reproduce {search.name} --repeats 5` on it says where its runs differ",
        )


def _kept_of(search: _Search, commit: str) -> KeptMetrics | None:
    """What is kept of a commit, or None where it has no numbers."""
    _check_out(search, commit)
    metrics, _, _ = _metrics(search, commit)
    return _kept(search, _key(search, search.recipes[commit])) if metrics else None


def _check_out(search: _Search, commit: str) -> None:
    git_history.git(search.tree, "checkout", "--quiet", "--detach", commit)


def _parent(search: _Search, commit: str) -> str:
    """Its first parent; "" where it has none."""
    found = git_history.run_git(search.tree, "rev-parse", "--verify", "--quiet", f"{commit}^")
    return found.stdout.strip()


def _judged(search: _Search, commit: str, reference: Path) -> tuple[str, str]:
    metrics, why, trained = _metrics(search, commit)
    result, detail = _result(search, commit, metrics, reference) if metrics else (SKIPPED, why)
    _note(search, commit, result, detail, trained=trained)
    return result, detail


def _result(search: _Search, commit: str, metrics: Path, reference: Path) -> tuple[str, str]:
    granted = search.recipes[search.tested[0].commit]  # the good commit's
    result, detail = _compared(reference, metrics, granted, search.platforms)
    if result == BAD and search.why_not_rounding is not None:
        why = "its environment is another one, and changed code in it is never rounding"
        if _environment(search, commit) == search.environment:
            why = search.why_not_rounding(metrics)
        result, detail = (BAD, f"{detail}; {why}") if why else (GOOD, f"{detail}, by rounding alone")
    return result, detail


def _compared(reference: Path, metrics: Path, recipe: Recipe, platforms: tuple[str, ...]) -> tuple[str, str]:
    try:
        found = difference(reference, metrics, recipe=recipe, platforms=platforms)
    except MetricsError as error:
        return SKIPPED, str(error)
    return (BAD, found) if found else (GOOD, "")


def _metrics(search: _Search, commit: str) -> tuple[Path | None, str, bool]:
    """Metrics of the commit that is checked out, or why there are none; and whether it was trained."""
    recipe = worktree_run.load(search.tree, search.name, overrides=tuple(search.request.overrides))
    if isinstance(recipe, Objection):
        return None, recipe.reason, False
    search.recipes[commit] = recipe
    # The good commit's, which comes first: one that only declares other seeds changes no number.
    search.request = replace(search.request, seed=search.request.seed_of(recipe.seeds))
    try:
        key = _key(search, recipe)
    except WorkspaceError as error:  # nothing to make an environment from
        return None, str(error), False
    cached = _kept(search, key).found
    search.own[commit] = search.own.get(key, "")
    if cached is not None or key in search.failed:
        return cached, search.failed.get(key, ""), False
    metrics, why = _train(search, recipe, key)
    search.own[commit] = search.own[key]
    if metrics is None:
        search.failed[key] = why  # for this search only: a full disk is no property of a commit
        return None, why, True
    return _kept(search, key).keep(metrics), "", True


def _train(search: _Search, recipe: Recipe, key: str) -> tuple[Path | None, str]:
    ran = worktree_run.run_at(
        search.tree,
        search.name,
        request=replace(search.request, backend=_backend(search, recipe)),
        runs_dir=search.scratch / "runs",
        progress=search.progress,
    )
    search.own[key] = ran.own
    if ran.own:
        own_environment.removed(search.tree, recipe)
    return ran.metrics, ran.why


def _key(search: _Search, recipe: Recipe) -> str:
    asked = [search.request.seed, _backend(search, recipe), search.request.base]
    asked += [recipe.platform] if recipe.platform else []  # two of them may have the same settings
    found = digest([tree_digest(search.tree, recipe), *asked]).removeprefix("sha256:")
    return f"{_UNPINNED}{found}" if recipe.variant == NO_VARIANT else found


def _backend(search: _Search, recipe: Recipe) -> str:
    if recipe.variant not in search.backends:
        search.backends[recipe.variant] = backend_of(recipe, search.request, progress=search.progress)
    return search.backends[recipe.variant]


def _kept(search: _Search, key: str) -> KeptMetrics:
    """Where a run's metrics are kept: for later searches only where its environment is part of the key."""
    place = search.scratch if key.startswith(_UNPINNED) else search.project.runs_dir
    return KeptMetrics(folder=place / CACHE / key)


def _note(search: _Search, commit: str, result: str, detail: str, *, trained: bool) -> None:
    subject = git_history.subject(search.tree, commit)
    detail = "; ".join(filter(None, (detail, search.own.get(commit))))
    one = TestedCommit(commit=commit, subject=subject, result=result, detail=detail, trained=trained)
    search.tested.append(one)
    how = "" if trained else ", not trained again"
    search.progress.note(f"{commit[:12]} is {result}{how}: {subject}" + (f" ({detail})" if detail else ""))


def _guilty(search: _Search, commit: str) -> SuspectCommit:
    """What a commit changed of what the recipe stands on, against its first parent."""
    parent = _parent(search, commit)
    after, before = search.recipes.get(commit), search.recipes.get(parent)
    known = [one for one in (before, after) if one] or [next(iter(search.recipes.values()))]
    here = replace(search.project, root=search.tree, recipes_dir=project_folder(search.tree, "recipes"))
    paths = sorted({path for one in known for path in tree_paths_of(one, here)})
    return SuspectCommit(
        commit=commit,
        subject=git_history.subject(search.tree, commit),
        settings=what_changed.settings(
            before.training_config, after.training_config, recipe=search.name, lines=after.lines
        )
        if before and after
        else (),
        files=tuple(git_history.changes_since(search.tree, parent, paths, until=commit)) if parent else (),
    )
