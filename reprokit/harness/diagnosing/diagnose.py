"""``reprokit diagnose``: where two runs first differ, and which line causes it, of a command or a recipe."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path

from reprokit import adapters, recipes
from reprokit.core.verdicts.rows import counted
from reprokit.errors import MetricsError
from reprokit.execution import local as local_backend
from reprokit.harness.diagnosing import proposing
from reprokit.harness.diagnosing.answers import answer, provisional
from reprokit.harness.diagnosing.diagnosis import (
    Diagnosis,
    InterruptedDiagnosisError,
)
from reprokit.harness.diagnosing.inquiry import Investigation
from reprokit.harness.diagnosing.instrumented_runs import (
    BudgetSpent,
    InstrumentedProgram,
)
from reprokit.harness.diagnosing.order_of_work import diagnosed
from reprokit.harness.diagnosing.paths_of_copies import in_source, to_source
from reprokit.harness.diagnosing.source_lines import with_source_lines
from reprokit.harness.diagnosing.stressing import disturbing
from reprokit.harness.running import again
from reprokit.harness.running.clock import stamp
from reprokit.harness.running.plan import plan_command, shell_line
from reprokit.harness.running.start_runs import prepare, with_numpys_own_names
from reprokit.layout import STDOUT
from reprokit.recipes import Recipe
from reprokit.request import Request
from reprokit.session import Session
from reprokit.workspace import write_json

#: A number of runs that is no bound.
MOST_RUNS = 1_000_000
#: So many runs are made at most, and so long, where no one says anything else.
USUAL_BUDGET, USUAL_BUDGET_S = 60, 900.0
_INTERRUPTED = "interrupted: what is named is not confirmed"
_SPENT = "the budget is used up: what is named is not confirmed"
_NOT_ALL_VARIED = "the budget is used up: the conditions were not varied, or not all of them"


def diagnose_command(
    command: Sequence[str],
    request: Request,
    *,
    session: Session,
    budget: int = USUAL_BUDGET,
    budget_s: float | None = USUAL_BUDGET_S,
    deep: bool = False,
    vary: tuple[str, ...] | None = None,
) -> Diagnosis:
    """Diagnose a plain command, which may hold ``{seed}`` and ``{run_dir}``, in ``budget`` runs at most.

    All of them together take no longer than ``budget_s``; the first two are made whatever they take.

    ``deep`` records operations even where a line was found; ``vary`` None is all that do not take long.

    Raises:
        CannotRunError: The program does not finish.
        MetricsError: It leaves nothing that can be compared.
    """
    seed = request.seed if request.seed is not None else 0
    moment = stamp()
    plan = plan_command(
        command, seed=seed, repeats=1, stamp=moment, working_dir=Path.cwd(), timeout_s=request.timeout_s
    )
    folder = session.project.reports_dir / plan.specs[0].recipe / f"{moment}-diagnose"
    lab = InstrumentedProgram(
        plan,
        folder=folder,
        backend=local_backend.LocalBackend(),
        progress=session.progress,
        budget=budget,
        ignore=request.ignore,
    )
    lab.deep, lab.vary, lab.budget_s = deep, vary, budget_s
    lab.outputs, lab.pairs = request.outputs, request.repeats
    options = ["--seed", str(seed), *again.words_of(request, project=session.project), *_how_words(lab)]
    try:
        with _disturbed(lab, request):
            return _written(lab, [*options, "--", *command])
    except MetricsError as error:
        if error.kind != "no_metrics_file":
            raise
        line = f"reprokit diagnose {shell_line([*options, '--', *command])}"
        prints = any(map(adapters.holds_numbers, folder.glob(f"*/{STDOUT}")))
        if prints:
            _remove(folder)
            what = "the program only prints its numbers; those of a plain command are read from files"
            fix = again.with_printed(line)
            raise MetricsError(what, kind=error.kind, where=shell_line(command), fix=fix) from error
        parts = {"where": error.where, "expected": error.expected, "actual": error.actual}
        raise MetricsError(error.what, kind=error.kind, fix=again.with_recipe(line), **parts) from error


def _remove(folder: Path) -> None:
    """Remove a folder that holds no answer, and those above it that hold nothing else."""
    shutil.rmtree(folder, ignore_errors=True)
    with suppress(OSError):  # not empty
        folder.parent.rmdir()
        folder.parent.parent.rmdir()


def diagnose_recipe(
    name: str,
    request: Request,
    *,
    session: Session,
    budget: int = USUAL_BUDGET,
    budget_s: float | None = USUAL_BUDGET_S,
    deep: bool = False,
    vary: tuple[str, ...] | None = None,
) -> Diagnosis:
    """Diagnose a recipe, in containers where an engine answers, else in a virtual environment of its lock."""
    recipe = recipes.load(name, recipes_dir=session.project.recipes_dir, overrides=request.overrides)
    seed = request.seed_of(recipe.seeds)
    session.progress.phase("environment")
    ready = with_numpys_own_names(prepare(recipe, request, session=session), recipe)
    lab = InstrumentedProgram(
        ready.plan,
        folder=session.project.reports_dir / recipe.name / f"{stamp()}-diagnose",
        backend=ready.backend,
        progress=session.progress,
        budget=budget,
    )
    lab.deep, lab.vary, lab.budget_s = deep, vary, budget_s
    lab.in_source, lab.pairs = to_source(recipe), request.repeats
    options = ["--seed", str(seed), *again.words_of(request, project=session.project), *_how_words(lab)]
    with _disturbed(lab, request):
        return _written(lab, [recipe.name, *options], recipe=recipe)


@contextmanager
def _disturbed(lab: InstrumentedProgram, request: Request) -> Iterator[None]:
    """Where that was asked for, every run is disturbed."""
    with disturbing() if request.stress else nullcontext() as lab.disturb:
        yield


def _how_words(lab: InstrumentedProgram) -> list[str]:
    """The options of how a cause is looked for, without those that are the defaults."""
    varied = [word for name in lab.vary or () for word in ("--vary", name)]
    usual = (lab.budget, lab.budget_s) == (USUAL_BUDGET, USUAL_BUDGET_S)
    budget = str(lab.budget) if lab.budget_s is None else f"{int(lab.budget_s)}s"
    return [
        *again.repeats_words(lab.pairs),
        *varied,
        *(["--level", "deep"] if lab.deep else []),
        *([] if usual else ["--budget", budget]),
    ]


def _written(
    lab: InstrumentedProgram, arguments: Sequence[str], *, recipe: Recipe | None = None
) -> Diagnosis:
    """The answer, written next to its runs with the command that shows it again."""
    kept: list[Investigation] = []
    proposing.must_be_sound()
    try:
        with lab:
            lab.progress.note(_budget_told(lab))
            found = _within_budget(lab, kept)
    except KeyboardInterrupt as error:
        if not kept or lab.equal(kept[0].first, kept[0].other):
            raise
        found = _finished(provisional(kept[0], _INTERRUPTED), lab, arguments, recipe)
        raise InterruptedDiagnosisError(found) from error
    return _finished(found, lab, arguments, recipe)


def _budget_told(lab: InstrumentedProgram) -> str:
    bounds = [f"{lab.budget_s:g} s"] if lab.budget_s is not None else []
    if lab.budget < MOST_RUNS:
        bounds.append(counted(lab.budget, "run"))
    return f"budget: {' and '.join(bounds)} at most (--budget)"


def _within_budget(lab: InstrumentedProgram, kept: list[Investigation]) -> Diagnosis:
    """The answer, or what is known when the budget is used up."""
    try:
        return diagnosed(lab, kept)
    except BudgetSpent:
        inquiry = kept[0]
        inquiry.known.append(f"the budget is used up: {lab.budget_s:g} s, {counted(lab.made, 'run')}")
        if lab.equal(inquiry.first, inquiry.other):
            return replace(answer(inquiry, None), provisional=_NOT_ALL_VARIED)
        return provisional(inquiry, _SPENT)


def _finished(
    found: Diagnosis, lab: InstrumentedProgram, arguments: Sequence[str], recipe: Recipe | None
) -> Diagnosis:
    found = in_source(found, recipe) if recipe else found
    found = with_source_lines(found, below=recipe.project_dir if recipe else None)
    found = replace(found, replay=(shell_line(["reprokit", "diagnose", *arguments]),))
    found = proposing.with_proposals(found, note=lab.progress.note)
    write_json(lab.folder / "diagnosis.json", found.as_data())
    return found
