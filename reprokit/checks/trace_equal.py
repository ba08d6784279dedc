"""Row ``trace_equal``: parameters and random states are equal after every update, not only the log."""

from __future__ import annotations

from reprokit.core.evidence import Evidence, GoldenEvidence, TraceComparison
from reprokit.core.rows import Finding, failed, not_applicable, passed, unjudged

ID = "trace_equal"
TITLE = "Parameters and random states are equal after every update"
ORDER = 30
ADVISORY = False
NEEDS_RECIPE = False

_WRITE = "call reprokit.runtime's trace after every update, in every run"
_LOOK = "look at what that update reads; trace.jsonl of every run has the digests before and after it"


def check(evidence: Evidence) -> Finding:
    """Trace of every later run against the first's, and the first's against the golden's."""
    golden = evidence.golden
    traced = [run for run in evidence.runs if run.trace_records > 0 and run.trace_digest]
    if not traced:
        if golden is not None and golden.has_trace:
            return failed(f"the runs wrote no trace, but {golden.path} has one", _WRITE)
        return not_applicable("the program writes no trace.jsonl", _WRITE if evidence.recipe else "")
    if len(traced) != len(evidence.runs):
        return failed(f"only {len(traced)} of {len(evidence.runs)} runs wrote a trace", _WRITE)
    if len(traced) < 2 or len(evidence.trace_repeats) != len(traced) - 1:
        return unjudged("the traces of the runs were not compared", "run it twice: `reprokit reproduce`")
    for run, trace in zip(traced[1:], evidence.trace_repeats, strict=True):
        fault = _fault(trace, wanted=run.trace_records)
        if fault is not None:
            return fault
    return _against_golden(golden, traced[0].trace_records)


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
    if fault is not None:
        return fault
    reason = f"{updates} updates have equal parameters and random states in all runs and in {golden.noun}"
    return passed(reason, updates=updates, golden_updates=golden.trace.records_compared)


def _fault(trace: TraceComparison, *, wanted: int | None) -> Finding | None:
    if trace.records_compared <= 0:
        return unjudged("no traced update could be compared", _WRITE)
    if trace.equal is not True:
        first = trace.first or {}
        place = f"{first.get('what', 'a digest')} at step {first.get('step')!r}"
        return failed(f"parameters or random states differ, first {place}", _LOOK, first=repr(dict(first)))
    if wanted is not None and trace.records_compared != wanted:
        return unjudged(f"only {trace.records_compared} of {wanted} traced updates were compared", _WRITE)
    return None
