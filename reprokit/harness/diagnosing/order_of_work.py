"""The order in which ``diagnose`` asks: are two runs equal, also under varied conditions, what differs."""

from __future__ import annotations

from reprokit import diagnosis
from reprokit.core.comparing import clock_metrics
from reprokit.diagnosis import Cause
from reprokit.errors import CannotJudgeError
from reprokit.harness.diagnosing.answers import answer, leave_out, provisional
from reprokit.harness.diagnosing.conditions import Conditions, InstrumentedRun
from reprokit.harness.diagnosing.diagnosis import (
    Diagnosis,
)
from reprokit.harness.diagnosing.experiments import explain
from reprokit.harness.diagnosing.first_call import by_first_call, is_in_a_library, look_at_calls
from reprokit.harness.diagnosing.first_divergence import (
    MEASURE,
    by_operation,
    like,
    where_it_began,
)
from reprokit.harness.diagnosing.hash_of_calls import line_of_hash
from reprokit.harness.diagnosing.inquiry import COMPILER, HASH_SEED, VARIATION, Investigation
from reprokit.harness.diagnosing.instrumented_runs import (
    InstrumentedProgram,
    need,
)
from reprokit.harness.diagnosing.lines_of_varied import with_line
from reprokit.harness.diagnosing.loaded_hook import why_not_loaded
from reprokit.harness.diagnosing.odds import by_rounding
from reprokit.harness.diagnosing.rare_pair import record_until_one_differs
from reprokit.harness.diagnosing.short_runs import cut_for
from reprokit.harness.diagnosing.simple import look_at_pairs, simple_cause
from reprokit.harness.diagnosing.threads_in_turn import in_turn
from reprokit.harness.diagnosing.unwatched import first_run
from reprokit.harness.diagnosing.varied_runs import differs_when_varied

#: Where values that no seed governs differ and the numbers do not, a program that takes less than so long is
#: run again: twice, and up to ten times while all of these runs together take less than that. Twice it is run
#: again where compiled code of others works in it, too: what threads do there shows in no value.
_MORE_REPEATS, _MOST_REPEATS, _QUICK_S = 2, 10, 20.0
#: So many runs must be left for a cause, or none is spent on more repeats.
_LEFT_FOR_A_CAUSE = 8
_SPENT = "the budget is used up: what is named is not confirmed"


def diagnosed(lab: InstrumentedProgram, kept: list[Investigation]) -> Diagnosis:
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
    if record_until_one_differs(inquiry, alike) or not lab.equal(first, second):
        return _explained(inquiry)
    if not lab.lost and differs_when_varied(inquiry):
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
        fix = f"leave them out: {leave_out(left_out)}"
        inquiry.causes = (Cause(category="clock", what=measured, fix=fix, confidence="medium"),)
    nothing = "apart from metrics of the clock nothing differs, varied conditions included"
    inquiry.known.append(f"{nothing}; to leave them out: {leave_out(left_out)}")
    return answer(inquiry, held)


def _equal_by_luck(inquiry: Investigation, second: InstrumentedRun, alike: Conditions) -> InstrumentedRun:
    """The first of more runs that differs; the last of them where none does."""
    lab, first, took = inquiry.lab, inquiry.first, second.duration_s
    for number in range(_MOST_REPEATS):
        quick = second.duration_s if number < _MORE_REPEATS else took
        draws = diagnosis.differing(first.trace, second.trace)
        unseen = number < _MORE_REPEATS and diagnosis.compiled_packages(first.trace)
        if (
            quick >= _QUICK_S
            or not (draws or unseen)
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
    for ran in inquiry.recorded:
        inquiry.saw(ran, held=())
    held = None if inquiry.variations or inquiry.is_rare else simple_cause(inquiry)
    if held is not None:
        if held == (HASH_SEED,):
            _named(inquiry, held)
        return answer(inquiry, held)
    found = lab.compare(first, inquiry.other)
    if not (
        lab.outputs or inquiry.is_rare or by_rounding(found)
    ):  # an output file is whole at the end; rounding differs anywhere
        lab.cut = cut_for(first, inquiry.other, found, folder=lab.folder, program=lab.program)
    held = explain(inquiry, before_search=None if inquiry.is_rare else look_at_pairs)
    lab.cut = None
    if inquiry.suspected:
        return provisional(inquiry, _SPENT)
    inquiry.began = where_it_began(inquiry, closely=held is not None)
    _named(inquiry, held)
    return answer(inquiry, held)


def _named(inquiry: Investigation, held: tuple[str, ...] | None) -> None:
    """Name what no recorded line explains, and the line of what is held where that has none of its own."""
    if inquiry.lab.deep and held is not None:
        for one in by_operation(inquiry):
            inquiry.known.append(f"operation by operation: {one.what}, {one.file}:{one.line}")
    if held is None:
        inquiry.causes = () if inquiry.variations else in_turn(inquiry)
        if not inquiry.causes:
            _by_operation_or_call(inquiry)
    elif held == (HASH_SEED,) and not inquiry.variations:
        line_of_hash(inquiry)
    elif {VARIATION + "threads", VARIATION + "cpu_affinity"} & set(held):
        inquiry.causes = by_operation(inquiry) or with_line(inquiry, held)
    elif VARIATION + COMPILER in held:
        inquiry.causes = with_line(inquiry, held)


def _by_operation_or_call(inquiry: Investigation) -> None:
    """The first operation that differs, or the first inexplicable call, with the word for it or without.

    Where the program calls compiled code of others, calls come first: an operation may only follow from one.
    """
    packages = diagnosis.compiled_packages(inquiry.first.trace)
    look = look_at_calls(inquiry) if packages else None
    in_library = look is not None and is_in_a_library(look, packages)
    if not in_library:
        inquiry.causes = by_operation(inquiry)
    if inquiry.causes:
        return
    look = look or look_at_calls(inquiry)
    found = by_first_call(inquiry, look) if look is not None else None
    if in_library and (found is None or not found.proven):
        inquiry.causes = by_operation(inquiry)
    if found is not None and not inquiry.causes:
        inquiry.causes = (found.cause, *found.more)
        inquiry.not_seen = found.not_seen
