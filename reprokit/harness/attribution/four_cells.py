"""Whether code or environment caused a mismatch: the golden's code and today's, in both environments.

Up to four runs, {the golden's code, today's code} × {the golden's environment, today's}, are each compared
with the golden; no verdict changes. An environment is what the lock pins. The machine cannot be brought
back: a difference in it shows where the golden's own commit with its own lock no longer gives the golden.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from reprokit import adapters, golden, recipes
from reprokit.capture import environment_diff, git_history
from reprokit.core import inputs
from reprokit.core.environment_record import sections
from reprokit.core.report_parts import Attribution, AttributionCell
from reprokit.errors import MetricsError, RecipeError, ReprokitError
from reprokit.harness.attribution import own_environment, worktree_run
from reprokit.harness.attribution.worktree_run import WorktreeRun
from reprokit.harness.judging.compared_with.reference import tolerances_of
from reprokit.harness.judging.differences import what_changed
from reprokit.harness.running.numbers import environment_digest
from reprokit.harness.running.programs.program_files import program_files
from reprokit.harness.running.varying.apply_variations import pinned_cores
from reprokit.layout import METRICS, RECIPE
from reprokit.project import Project, project_folder
from reprokit.recipes import PARTS, Recipe
from reprokit.records import environment_json, run_json
from reprokit.request import Request
from reprokit.session import Progress, Session

EQUAL, DIFFERS, NOT_RUN = "equal", "differs", "not run"

#: A cell: whose code, in whose environment.
Place = tuple[str, str]
THEN, NOW = "golden's", "today's"
THEN_THEN, THEN_NOW, NOW_THEN, NOW_NOW = (THEN, THEN), (THEN, NOW), (NOW, THEN), (NOW, NOW)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Case:
    name: str
    blessed: golden.Golden
    recipe: Recipe
    request: Request
    project: Project
    scratch: Path
    cores: tuple[int, ...]
    progress: Progress


def attribute(
    recipe: Recipe, *, golden_path: Path, run: Path, request: Request, session: Session, keep: Path
) -> Attribution:
    """Find out whose fault it is that a run is not the golden; ``keep`` gets the metrics of each cell."""
    blessed = golden.load(golden_path)
    asked = replace(request, seed=blessed.seed, repeats=1)
    scratch = Path(tempfile.mkdtemp(prefix="reprokit-cells-"))
    try:
        case = _Case(
            name=recipe.name,
            blessed=blessed,
            recipe=recipe,
            request=asked,
            project=session.project,
            scratch=scratch,
            cores=pinned_cores(run),
            progress=session.progress,
        )
        cells, commit, machine = _cells(case, run)
        _keep(scratch, keep)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    answer, sentence = blame({(cell.code, cell.environment): cell.result for cell in cells}, machine=machine)
    return Attribution(answer=answer, sentence=sentence, golden_commit=commit, cells=tuple(cells))


def blame(results: Mapping[Place, str], *, machine: str = "") -> tuple[str, str]:
    """The answer that four results leave, and its sentence; ``machine``: what differs in it, or ""."""
    found = {place: results.get(place, NOT_RUN) for place in (THEN_THEN, THEN_NOW, NOW_THEN)}
    if found[THEN_THEN] == DIFFERS and machine:
        return "environment", f"the golden's own commit no longer gives it on this machine: {machine}"
    for pattern, answer, sentence in _RULES:
        if all(found[place] == result for place, result in pattern.items()):
            return answer, sentence
    return "undecided", "too few of the four could be run to tell code from environment"


# The first that fits decides. In each, one of the two is held fast while the other moves.
_RULES: tuple[tuple[Mapping[Place, str], str, str], ...] = (
    (
        {THEN_THEN: DIFFERS},
        "golden",
        "the golden itself is not reproducible: its own commit and lock no longer give it",
    ),
    (
        {THEN_NOW: EQUAL, NOW_THEN: EQUAL},
        "both",
        "neither code nor environment alone changes the numbers, but both together do",
    ),
    (
        {THEN_THEN: EQUAL, THEN_NOW: DIFFERS, NOW_THEN: DIFFERS},
        "both",
        "each of code and environment alone changes the numbers",
    ),
    ({THEN_NOW: EQUAL}, "code", "the golden's code still gives the golden in today's environment"),
    ({NOW_THEN: EQUAL}, "environment", "today's code gives the golden in the golden's environment"),
    (
        {THEN_THEN: EQUAL, THEN_NOW: DIFFERS},
        "environment",
        "the golden's code gives the golden in its own environment, and not in today's",
    ),
    (
        {THEN_THEN: EQUAL, NOW_THEN: DIFFERS},
        "code",
        "in the golden's environment the golden's code gives the golden, and today's code does not",
    ),
)


def _cells(case: _Case, run: Path) -> tuple[list[AttributionCell], str | None, str]:
    today = _held(NOW_NOW, run / METRICS, case)
    with ExitStack() as trees:
        try:
            commit = git_history.last_commit(case.blessed.path)
            git_history.resolve(case.project.root, commit)  # the golden may lie in another repository
            then = trees.enter_context(git_history.worktree(case.project.root, commit=commit))
            _must_be_the_goldens(then, case)
        except ReprokitError as error:
            why = str(error)
            lost = [
                AttributionCell(code=one, environment=other, result=NOT_RUN, detail=why)
                for one, other in (THEN_THEN, THEN_NOW, NOW_THEN)
            ]
            return [*lost, today], None, ""
        variant = case.recipe.variant
        same_lock = environment_digest(then, variant) == environment_digest(case.project.root, variant)
        first, ran = _run(THEN_THEN, then, case, overrides=())
        machine = _machine(ran.folder, case)
        if ran.own:  # the golden's code has no run in this Python
            first = replace(first, detail=_joined(first.detail, ran.own))
            moved = replace(first, environment=NOW, result=NOT_RUN, detail=ran.own)
            local = replace(case, request=replace(case.request, backend="local"))  # as that one was run
            rebuilt, _ = _run(NOW_THEN, _own_tree(case, then), local, overrides=case.request.overrides)
        elif same_lock:
            note = "the same lock: the one run stands for both"
            moved = replace(first, environment=NOW, detail=_joined(first.detail, note))
            rebuilt = replace(today, environment=THEN, detail=_joined(today.detail, note))
        else:
            rebuilt, _ = _run(NOW_THEN, _tree(case, locks=then), case, overrides=case.request.overrides)
            shutil.rmtree(project_folder(then, "images"), ignore_errors=True)
            shutil.copytree(project_folder(case.project.root, "images"), project_folder(then, "images"))
            moved, _ = _run(THEN_NOW, then, case, overrides=())
    return [first, moved, rebuilt, today], commit, machine


def _must_be_the_goldens(tree: Path, case: _Case) -> None:
    """The commit must hold the recipe that was blessed, or its runs say nothing about the golden."""
    found = recipes.load(case.name, recipes_dir=project_folder(tree, "recipes"))
    recorded = case.blessed.provenance.digests["recipe"]
    if found.digest != recorded:
        raise RecipeError(
            "the golden's commit does not hold the recipe that was promoted",
            expected=recorded,
            actual=found.digest,
            fix="commit a golden together with its recipe",
        )


def _run(
    place: Place, root: Path, case: _Case, *, overrides: Sequence[str]
) -> tuple[AttributionCell, WorktreeRun]:
    code, environment = place
    asked = replace(case.request, overrides=tuple(overrides))
    runs_dir = case.scratch / _folder(place)
    ran = worktree_run.run_at(
        root, case.name, request=asked, runs_dir=runs_dir, progress=case.progress, cores=case.cores
    )
    if ran.metrics is None:
        return AttributionCell(code=code, environment=environment, result=NOT_RUN, detail=ran.why), ran
    held = _held(place, ran.metrics, case)
    alien = _not_blessed(place, ran.folder, case)
    if held.result == DIFFERS and alien:
        held = replace(
            held, result=NOT_RUN, detail=f"{held.detail}, but with a different {alien} from the promoted one"
        )
    return held, ran


def _not_blessed(place: Place, folder: Path | None, case: _Case) -> str:
    """What a run of the golden's code stood on that the golden did not; "" when nothing.

    A tree without a ``reprokit`` of its own is run by this one, and a commit that was rewritten may hold
    another lock: what differs then says nothing of the golden.
    """
    code, environment = place
    if code != THEN or folder is None:
        return ""
    recorded, ran = case.blessed.provenance.digests, run_json.recorded(folder).digests or {}
    changed = inputs.changed(recorded, ran)
    return ", ".join(name for name in changed if name != "lock" or environment == THEN)


def _held(place: Place, metrics: Path, case: _Case) -> AttributionCell:
    code, environment = place
    try:
        found = adapters.compare(
            case.blessed.metrics, metrics, tolerances=tolerances_of(case.recipe, case.blessed)
        )
    except MetricsError as error:
        return AttributionCell(code=code, environment=environment, result=NOT_RUN, detail=str(error))
    if found.within_tolerance:
        detail = "" if found.identical else "within tolerance, not bit for bit"
        return AttributionCell(code=code, environment=environment, result=EQUAL, detail=detail)
    first = found.divergence
    detail = ""
    if first is not None:
        begins = f"record {first.record}" if first.step is None else f"step {first.step}"
        detail = f"from {begins} on, {first.metric or 'the record'}"
    return AttributionCell(code=code, environment=environment, result=DIFFERS, detail=detail)


def _machine(folder: Path | None, case: _Case) -> str:
    """What of the environment the lock could not bring back, in words; "" when nothing that counts."""
    if folder is None:
        return ""
    recorded = case.blessed.provenance.environment
    here = environment_json.recorded(folder)
    return what_changed.environment_rows(environment_diff.diff(recorded, sections(here, recorded)))


def _tree(case: _Case, *, locks: Path) -> Path:
    root = case.scratch / "tree"
    home, trainer = case.recipe.file.parent, case.recipe.trainer
    if trainer is None:
        return _program_tree(root, case, locks=locks)
    shutil.copytree(home, root / "recipes" / case.name)
    (root / "recipes" / "trainers").mkdir()
    shutil.copyfile(trainer, root / "recipes" / "trainers" / trainer.name)
    for part in case.recipe.parts:
        target = root / "recipes" / PARTS / part.name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(part.content)
    shutil.copytree(project_folder(locks, "images"), root / "images")
    return root


def _program_tree(root: Path, case: _Case, *, locks: Path) -> Path:
    """The files that an unmodified program sees today, tracked by a repository of their own."""
    for file in program_files(case.recipe, case.project.root):
        target = root / file.name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(file.content)
        target.chmod(0o755 if file.executable else 0o644)
    home = project_folder(root, "recipes") / case.name
    shutil.copytree(case.recipe.file.parent, home, dirs_exist_ok=True)
    shutil.copytree(project_folder(locks, "images"), project_folder(root, "images"), dirs_exist_ok=True)
    for arguments in (["init", "--quiet"], ["add", "--all", "--force"]):
        git_history.git(root, *arguments)
    return root


def _own_tree(case: _Case, then: Path) -> Path:
    """Today's code in the environment that was locked from the golden's files."""
    root = _tree(case, locks=then)
    own_environment.name_own(project_folder(root, "recipes") / case.name / RECIPE)
    git_history.git(root, "add", "--all", "--force")
    return root


def _keep(scratch: Path, keep: Path) -> None:
    for place in (THEN_THEN, THEN_NOW, NOW_THEN):
        for metrics in (scratch / _folder(place)).glob(f"*/*/{METRICS}"):
            target = keep / _folder(place)
            target.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(metrics, target / METRICS)


def _folder(place: Place) -> str:
    words = {THEN: "golden", NOW: "today"}
    return f"code-{words[place[0]]}-environment-{words[place[1]]}"


def _joined(*parts: str) -> str:
    return "; ".join(part for part in parts if part)
