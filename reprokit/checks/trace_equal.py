"""Row ``trace_equal``: parameters and random states are equal after every update, not only the log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reprokit.core.evidence import Evidence, GoldenEvidence, RunEvidence, TraceComparison, fact
from reprokit.core.sampling.distinct_streams import ledger_problems
from reprokit.core.verdicts.agreement import differing_trace
from reprokit.core.verdicts.ensemble_tier import excuses_difference, why_not_repeatable
from reprokit.core.verdicts.rows import Finding, Status, failed, not_applicable, passed, skipped, unjudged

ID = "trace_equal"
TITLE = "Parameters and random states are equal after every update"
ORDER = 30
ADVISORY = False
NEEDS_RECIPE = False
NEEDS_WATCH = True

_WRITE = "call reprokit.runtime's trace after every update, in every run"
_WATCH = "start it with Python, and let it end by itself: the watch writes its record when the program ends"
_OWN = "log what it updates as a metric, or declare it under `outputs`"
_LOOK_AT_DATA = "look at the sampler, its generator and the data set: the trace has the ids of every update"
_LOOK = "look at what that update reads; trace.jsonl of every run has the digests before and after it"


def check(evidence: Evidence) -> Finding:
    """Trace of every later run against the first's, and the first's against the golden's."""
    if evidence.stopped_at_golden:
        return _until_stopped(evidence)
    if excuses_difference(evidence):
        why = f"as the recipe says of {evidence.platform}: {why_not_repeatable(evidence)}"
        return not_applicable(f"two runs cannot be equal, {why}", _LOOK)
    golden = None if evidence.golden and evidence.golden.is_foreign else evidence.golden
    traced = [run for run in evidence.runs if run.trace_records > 0 and run.trace_digest]
    watched = bool((evidence.recipe or {}).get("instrument"))
    found = _unread(evidence) if watched else None
    if found is None and not traced:
        found = _of_watched(evidence) if watched else _of_silent(evidence)
    if found is not None:
        return found
    finding = _between_runs(evidence, traced) or _against_golden(golden, traced[0].trace_records)
    return _with_ledger_problems(finding, evidence) if watched else finding


def _with_ledger_problems(finding: Finding, evidence: Evidence) -> Finding:
    """Parameters may be equal all the same: a row that passed says which samples no one has looked at."""
    lacking = [f"{run.path}: {one}" for run in evidence.runs for one in ledger_problems(run)]
    if finding.status != Status.PASSED or not lacking:
        return finding
    reason = f"{finding.reason}; not all samples were compared: {lacking[0]}"
    return passed(reason, **finding.evidence, samples_unread=lacking)


def _between_runs(evidence: Evidence, traced: Sequence[RunEvidence]) -> Finding | None:
    """What is wrong with the traces of the runs, compared with each other; None where they are equal."""
    if len(traced) != len(evidence.runs):
        return failed(f"only {len(traced)} of {len(evidence.runs)} runs wrote a trace", _WRITE)
    if len(traced) < 2 or len(evidence.trace_repeats) != len(traced) - 1:
        return unjudged("the traces of the runs were not compared", "run it twice: `reprokit reproduce`")
    for run, trace in zip(traced[1:], evidence.trace_repeats, strict=True):
        fault = _fault(trace, wanted=run.trace_records)
        if fault is not None:
            return fault
    return None


def _until_stopped(evidence: Evidence) -> Finding:
    """Runs that were stopped at the golden: that an update differs is known, that none does is not."""
    found = differing_trace(evidence)
    fault = None if found is None else _fault(found[1], wanted=None)
    return fault or not_applicable(
        "the runs were stopped at the first difference from the golden; no update up to there differs",
        "let them end: `reprokit reproduce`, or `reprokit verify --no-watch-golden`",
    )


def _of_silent(evidence: Evidence) -> Finding:
    """A program that writes no trace, and that no one watches."""
    if evidence.golden is not None and evidence.golden.has_trace:
        return failed(f"the runs wrote no trace, but {evidence.golden.path} has one", _WRITE)
    return not_applicable("the program writes no trace.jsonl", _WRITE if evidence.recipe else "")


def _unread(evidence: Evidence) -> Finding | None:
    """Why parameters of a watched program could not be read; None where they could."""
    for run in evidence.runs:
        for one in (fact(run.instrument, "processes") or {}).values():
            if problem := fact(one, "torch.problem"):
                return unjudged(f"{run.path}: {problem}", _OWN)
    return None


def _of_watched(evidence: Evidence) -> Finding:
    """Why the watch over an unmodified program has traced nothing."""
    if not evidence.runs or not all(fact(run.instrument, "processes.0") for run in evidence.runs):
        return skipped("the program left no record of what it did, so nothing was traced", _WATCH)
    if evidence.golden is not None and evidence.golden.has_trace:
        return failed(f"the runs took no step of an optimizer, but {evidence.golden.path} has a trace", _LOOK)
    torch = any(
        fact(one, "in_force.torch")
        for run in evidence.runs
        for one in (fact(run.instrument, "processes") or {}).values()
    )
    if torch:
        return not_applicable("no optimizer of PyTorch took a step, so there is no update to trace", _OWN)
    return not_applicable(
        "the program does not use PyTorch, and only PyTorch's parameters can be traced", _OWN
    )


def _against_golden(golden: GoldenEvidence | None, updates: int) -> Finding:
    if golden is None:
        return passed(
            f"{updates} updates have equal parameters and random states in all runs", updates=updates
        )
    if not golden.comparison.identical:
        return passed(
            f"{updates} updates have equal parameters and random states in all runs; the metrics differ "
            f"from {golden.noun}, so its trace is not compared",
            updates=updates,
        )
    if golden.trace is None:
        remedy = "promote it again, with its trace: `reprokit golden promote`"
        return unjudged(f"the trace was not compared with that of {golden.path}", remedy)
    fault = _fault(golden.trace, wanted=None)
    if fault is not None and "instrumentation" in golden.changed:
        what = f"the watch changed since {golden.noun}, and its traces differ: {fault.reason}"
        return unjudged(what, "promote again: `reprokit golden promote`")
    if fault is not None:
        return fault
    reason = f"{updates} updates have equal parameters and random states in all runs and in {golden.noun}"
    return passed(reason, updates=updates, golden_updates=golden.trace.records_compared)


def _fault(trace: TraceComparison, *, wanted: int | None) -> Finding | None:
    if trace.records_compared <= 0:
        return unjudged("no traced update could be compared", _WRITE)
    if trace.equal is not True:
        first = trace.first or {}
        place = f"{first.get('place') or first.get('what', 'a digest')} at step {first.get('step')!r}"
        sample = first.get("sample")
        if isinstance(sample, Mapping):
            reason = f"the samples differ: {sample.get('told')}; first in the trace is {place}"
            return failed(reason, _LOOK_AT_DATA, first=repr(dict(first)))
        return failed(f"parameters or random states differ, first {place}", _LOOK, first=repr(dict(first)))
    if wanted is not None and trace.records_compared != wanted:
        return unjudged(f"only {trace.records_compared} of {wanted} traced updates were compared", _WRITE)
    return None
