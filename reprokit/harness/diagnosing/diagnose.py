"""``reprokit diagnose``: where two runs first differ, and which line causes it.

Asked in order: are two runs equal, are they equal under varied conditions, what makes them differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from reprokit import adapters, diagnosis, recipes
from reprokit.core.comparing import clock_metrics
from reprokit.core.verdicts.rows import counted
from reprokit.diagnosis import Cause
from reprokit.errors import CannotJudgeError, MetricsError
from reprokit.execution import local as local_backend
from reprokit.harness.diagnosing.answers import answer, provisional
from reprokit.harness.diagnosing.conditions import Conditions, InstrumentedRun
from reprokit.harness.diagnosing.diagnosis import (
    Diagnosis,
    InterruptedDiagnosisError,
)
from reprokit.harness.diagnosing.experiments import explain
from reprokit.harness.diagnosing.first_call import by_first_call, is_in_a_library, look_at_calls
from reprokit.harness.diagnosing.first_divergence import (
    MEASURE,
    by_operation,
    like,
    where_it_began,
)
from reprokit.harness.diagnosing.inquiry import VARIATION, Investigation
from reprokit.harness.diagnosing.instrumented_runs import (
    BudgetSpent,
    InstrumentedProgram,
    need,
)
from reprokit.harness.diagnosing.loaded_hook import why_not_loaded
from reprokit.harness.diagnosing.paths_of_copies import in_source, to_source
from reprokit.harness.diagnosing.short_runs import cut_for
from reprokit.harness.diagnosing.simple import look_at_pairs, simple_cause
from reprokit.harness.diagnosing.source_lines import with_source_lines
from reprokit.harness.diagnosing.threads_in_turn import in_turn
from reprokit.harness.diagnosing.unwatched import first_run
from reprokit.harness.diagnosing.varied_runs import differs_when_varied
from reprokit.harness.running import again
from reprokit.harness.running.clock import stamp
from reprokit.harness.running.plan import plan_command, shell_line
from reprokit.harness.running.start_runs import prepare, with_numpys_own_names
from reprokit.layout import STDOUT
from reprokit.recipes import Recipe
from reprokit.request import Request
from reprokit.session import Session
from reprokit.workspace import write_json

#: Where values that no seed governs differ and the numbers do not, a program that takes less than so long is
#: run again: twice, and up to ten times while all of these runs together take less than that.
_MORE_REPEATS, _MOST_REPEATS, _QUICK_S = 2, 10, 20.0
#: So many runs must be left for a cause, or none is spent on more repeats.
_LEFT_FOR_A_CAUSE = 8
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
    lab.outputs = request.outputs
    options = ["--seed", str(seed), *again.words_of(request, project=session.project), *_how_words(lab)]
    try:
        return _written(lab, [*options, "--", *command])
    except MetricsError as error:
        if error.kind != "no_metrics_file":
            raise
        line = f"reprokit diagnose {shell_line([*options, '--', *command])}"
        prints = any(map(adapters.holds_numbers, folder.glob(f"*/{STDOUT}")))
        fix = again.with_printed(line) if prints else again.with_recipe(line)
        parts = {"where": error.where, "expected": error.expected, "actual": error.actual}
        raise MetricsError(error.what, kind=error.kind, fix=fix, **parts) from error


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
    lab.in_source = to_source(recipe)
    options = ["--seed", str(seed), *again.words_of(request, project=session.project), *_how_words(lab)]
    return _written(lab, [recipe.name, *options], recipe=recipe)


def _how_words(lab: InstrumentedProgram) -> list[str]:
    """The options of how a cause is looked for, without those that are the defaults."""
    varied = [word for name in lab.vary or () for word in ("--vary", name)]
    usual = (lab.budget, lab.budget_s) == (USUAL_BUDGET, USUAL_BUDGET_S)
    budget = str(lab.budget) if lab.budget_s is None else f"{int(lab.budget_s)}s"
    return [
        *varied,
        *(["--level", "deep"] if lab.deep else []),
        *([] if usual else ["--budget", budget]),
    ]


def _written(
    lab: InstrumentedProgram, arguments: Sequence[str], *, recipe: Recipe | None = None
) -> Diagnosis:
    """The answer, written next to its runs with the command that shows it again."""
    kept: list[Investigation] = []
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
        return _diagnose(lab, kept)
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
    write_json(lab.folder / "diagnosis.json", found.as_data())
    return found


def _diagnose(lab: InstrumentedProgram, kept: list[Investigation]) -> Diagnosis:
    """The answer; what is known on the way is in ``kept``."""
    lab.progress.phase("are two runs equal?")
    first = first_run(lab)
    if not (first.trace.processes or first.trace.started):
        raise CannotJudgeError(
            f"the watch was not loaded into the program: {why_not_loaded(lab.spec.command)}",
            where=str(first.folder),
            fix="reprokit reproduce says whether two runs are equal; for the cause start it as python FILE",
        )
    if first.trace.facts.get("torch_drew"):
        lab.draws = True
        first = need(lab.run("first-by-draws", Conditions(progress=MEASURE)))
    alike = Conditions(progress=like(first))
    second = need(lab.run("second", alike))
    inquiry = Investigation(lab=lab, first=first, other=second)
    kept.append(inquiry)
    lab.bounded = True
    if lab.lost:
        inquiry.known.append(lab.lost)
    if not lab.equal(first, second) or (not lab.lost and differs_when_varied(inquiry)):
        return _explained(inquiry)
    inquiry.other = _equal_by_luck(inquiry, second, alike)
    if not lab.equal(first, inquiry.other):
        return _explained(inquiry)
    return _by_the_clock(inquiry, second) if lab.left_out else answer(inquiry, None)


def _by_the_clock(inquiry: Investigation, second: InstrumentedRun) -> Diagnosis:
    """The line that reads the clock, where nothing differs but metrics of it."""
    lab = inquiry.lab
    left_out = dict(lab.left_out)
    inquiry.other, inquiry.variations = second, ()
    lab.left_out, lab.keeps_clocks = {}, True
    inquiry.forget_runs()
    held = explain(inquiry)
    if held is None:
        measured = f"metrics of the clock differ: {clock_metrics.sentence(left_out)}"
        fix = f"leave them out: {clock_metrics.options(left_out)}"
        inquiry.causes = (Cause(category="clock", what=measured, fix=fix, confidence="medium"),)
    inquiry.known.append("apart from metrics of the clock nothing differs, varied conditions included")
    return answer(inquiry, held)


def _equal_by_luck(inquiry: Investigation, second: InstrumentedRun, alike: Conditions) -> InstrumentedRun:
    """The first of more runs that differs; the last of them where none does."""
    lab, first, took = inquiry.lab, inquiry.first, second.duration_s
    for number in range(_MOST_REPEATS):
        quick = second.duration_s if number < _MORE_REPEATS else took
        draws = diagnosis.differing(first.trace, second.trace)
        if (
            quick >= _QUICK_S
            or not draws
            or 2 * lab.made > lab.budget
            or not lab.can_make(_LEFT_FOR_A_CAUSE)
            or not lab.equal(first, second)
        ):
            break
        inquiry.free_equal += 1
        second = need(lab.run("again", alike))
        took += second.duration_s
    return second


def _explained(inquiry: Investigation) -> Diagnosis:
    """Try what is simple, then hold lines fixed, then run threads in turn, then compare operations."""
    lab, first = inquiry.lab, inquiry.first
    inquiry.forget_runs()
    held = None if inquiry.variations else simple_cause(inquiry)
    if held is not None:
        return answer(inquiry, held)
    if not inquiry.variations:
        look_at_pairs(inquiry)
    found = lab.compare(first, inquiry.other)
    if not lab.outputs:  # an output file is whole at the end alone
        lab.cut = cut_for(first, inquiry.other, found, folder=lab.folder, program=lab.program)
    held = explain(inquiry)
    lab.cut = None
    if inquiry.suspected:
        return provisional(inquiry, _SPENT)
    inquiry.began = where_it_began(inquiry, closely=held is not None)
    if inquiry.lab.deep and held is not None:
        for one in by_operation(inquiry):
            inquiry.known.append(f"operation by operation: {one.what}, {one.file}:{one.line}")
    if held is None:
        inquiry.causes = () if inquiry.variations else in_turn(inquiry)
        if not inquiry.causes:
            _by_operation_or_call(inquiry)
    elif {VARIATION + "threads", VARIATION + "cpu_affinity"} & set(held):
        inquiry.causes = by_operation(inquiry)
    return answer(inquiry, held)


def _by_operation_or_call(inquiry: Investigation) -> None:
    """The first operation that differs, or the first inexplicable call, with the word for it or without.

    Where the program calls compiled code of others, calls come first: an operation may only follow from one.
    """
    look = look_at_calls(inquiry) if diagnosis.compiled_packages(inquiry.first.trace) else None
    if look is None or not is_in_a_library(look):
        inquiry.causes = by_operation(inquiry)
    if inquiry.causes:
        return
    look = look or look_at_calls(inquiry)
    found = by_first_call(inquiry, look) if look is not None else None
    if found is not None:
        inquiry.causes = (found.cause, *found.more)
        inquiry.not_seen = found.not_seen
