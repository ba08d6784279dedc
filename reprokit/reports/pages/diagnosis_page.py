"""The answer of `reprokit diagnose` as lines: where two runs differ, and which line makes them differ.

Every ``found`` is a ``harness.diagnosing`` answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from reprokit.core.verdicts.rows import counted
from reprokit.reports import shorten
from reprokit.reports.escaping import one_line
from reprokit.reports.tables import shown

if TYPE_CHECKING:
    from reprokit.core.extension_record import ReportedProposal
    from reprokit.diagnosis import Cause

_MOST, _MOST_TAPS, _FEW = 30, 12, 4
_MOST_IN_PIPE, _MOST_NEXT = 10, 2
#: Cause → in which runs it shows, although equal conditions seemed enough: `reproduce` holds this equal.
_IN_RUNS = {"hash_order": "in runs with different hash seeds of Python"}
#: Lines of evidence that make room for a further cause.
_EVIDENCE = ("  still equal just before", "  differs there", "  another state")
_MOST_OF_A_SENTENCE = 2_000


def page_lines(found: Any, *, root: Path) -> Iterator[str]:
    """The whole answer, paths relative to ``root``, without the commands that reproduce it."""
    return map(shorten.without(PurePosixPath(root)), _lines(found, root=root))


def first_lines(found: Any, *, again: Sequence[str], root: Path) -> list[str]:
    """The answer in at most ten lines, with ``again`` at the end: for pipes and CI logs."""
    *facts, kept = page_lines(found, root=root)
    if len(found.causes) > 1:
        facts = [line for line in facts if not line.startswith(_EVIDENCE)]
    following = [f"  next: {shown(one)}" for one in found.next[:_MOST_NEXT]]
    room = _MOST_IN_PIPE - 1 - len(again) - len(following)
    if len(facts) > room:
        kept_facts = facts[: room - 1]
        while kept_facts[-1:] and kept_facts[-1].endswith(":"):  # a heading of what is left out
            kept_facts.pop()
        left_out = counted(len(facts) - len(kept_facts), "more line")
        facts = [*kept_facts, f"  and {left_out} in diagnosis.html and --json", *following]
    return [*facts, kept, *again]


def _lines(found: Any, *, root: Path) -> Iterator[str]:
    yield headline(found, root=root)
    if found.provisional:
        yield f"  provisional: {found.provisional}"
    yield from _where_they_part(found)
    for cause in found.causes:
        place = f"{shown(_as_typed(cause.file, root))}:{cause.line}" if cause.file else "no line"
        yield f"  cause: {cause.category} at {place}: {shown(cause.what, limit=_MOST_OF_A_SENTENCE)}"
        if cause.source:
            yield f"  source: {shown(cause.source)}"
        if cause.fix:
            yield f"  fix: {shown(cause.fix)}"
        if cause.category != "unknown" or cause.confidence == "high":
            yield f"  confidence: {confidence_text(cause)}"
    for one in found.proposals:
        yield f"  proposed by {proposal_text(one, root)}"
        if not one.problem:
            yield f"    fix: {shown(one.fix)}"
            yield f"    confidence: {shown(one.standing)}"
    if found.odds is not None:
        yield f"  odds: {found.odds.sentence()}"
    yield from (f"  known: {shown(one)}" for one in found.known)
    yield from _ruled_out(found)
    yield from _suspicious(found)
    yield from _not_seen(found)
    yield from _next(found)
    yield f"{found.runs} runs, kept in {shown(str(found.folder))}"


def headline(found: Any, *, root: Path) -> str:
    """Where, what, which line, and the fix: one sentence."""
    where, cause = what_differs(found), found.cause
    if found.divergence is None:
        return f"{'UNJUDGED' if found.verdict == 'UNJUDGED' else 'REPEATABLE'}: {where}"
    proposed = "".join(
        f"; proposed by {proposal_text(one, root)} (confidence {shown(one.standing)})"
        for one in found.proposals
        if not one.problem
    )
    if cause is None or (cause.category == "unknown" and cause.confidence != "high"):
        return f"NONDETERMINISTIC: {where}; cause unknown: {_unknown_text(cause, root)}{proposed}"
    fix = f"; fix: {shown(cause.fix)}" if cause.fix else ""
    what = shown(_cause_text(cause, root), limit=_MOST_OF_A_SENTENCE)
    certainty = _certainty_text(cause)
    if len(found.causes) > 1:
        places = [
            f"{_as_typed(one.file, root)}:{one.line}" if one.file else "no line" for one in found.causes
        ]
        certainty = f"{len(places)} causes ({shown(', '.join(places))}), all to be fixed. The first"
    return f"NONDETERMINISTIC: {where}; {certainty}: {what}{fix}{proposed}"


def proposal_text(one: ReportedProposal, root: Path) -> str:
    """Whose proposal it is, and what it says: ``pbs-queue 1.0: job_id at train.py:3: reads …``."""
    if one.problem:
        return shown(f"{one.label}: {one.category}: not asked: {one.problem}")
    place = f" at {_as_typed(one.file, root)}:{one.line}" if one.file else ""
    return shown(f"{one.label}: {one.category}{place}: {one.what}")


def _unknown_text(cause: Cause | None, root: Path) -> str:
    """What stands in a cause's place: the first inexplicable call, or that nothing was shown."""
    if cause is None or not cause.file:
        return "no experiment shows one"
    return shown(_cause_text(cause, root), limit=_MOST_OF_A_SENTENCE)


def what_differs(found: Any) -> str:
    """Where the runs first differ, and once what changes; or that nothing differs."""
    if found.verdict == "UNJUDGED":
        return "; ".join(f"{shown(one.what)}: not varied: {shown(one.how)}" for one in found.not_varied)
    if found.divergence is None:
        varied = f"no metric differs in {found.runs} runs, under equal conditions or varied ones"
        return found.equality or varied
    if found.variation:
        return f"{_first_place(found)}, once {found.variation.replace('_', ' ')} changes"
    shows = _IN_RUNS.get(found.cause.category if found.cause else "", "")
    return f"{_first_place(found)}, {shows}" if shows else _first_place(found)


def _first_place(found: Any) -> str:
    if found.began is not None:
        exactly = "" if found.began.single else " or before"
        return f"first differs at {found.began.place}{exactly}, in {shown(found.began.what_differs)}"
    first = found.divergence
    if first is None or not first.metric:
        return "differs"
    return f"first differs at {first.place}, in {shown(str(first.metric))}"


def _where_they_part(found: Any) -> Iterator[str]:
    """The evidence in order: what was equal, what was not, and what the metrics show."""
    began, first = found.began, found.divergence
    if began is not None:
        yield f"  still equal just before: {shown(began.equal_before or 'nothing that was recorded')}"
        if len(began.streams) > 1:
            yield f"  differs there: {shown(', '.join(began.streams))}"
        for name, at in began.generators.items():
            yield f"  another state from update {at} on: {shown(name)}"
    if first is not None and first.metric:
        values = f"{first.expected} and {first.actual}"
        yield f"  first metric that differs: {first.place}, {shown(str(first.metric))} ({values})"


def _ruled_out(found: Any) -> Iterator[str]:
    """What is not a cause: one line each, or one line for many that one experiment ruled out."""
    by_how: dict[str, list[str]] = {}
    for one in found.ruled_out:
        by_how.setdefault(one.how, []).append(one.what)
    if by_how:
        yield "Ruled out:"
    for how, whats in by_how.items():
        if len(whats) > _FEW and not any(":" in what for what in whats):  # conditions, no lines
            yield f"  {shown(how)}: {one_line(', '.join(whats))}"
        else:
            yield from (f"  {shown(what)}: {shown(how)}" for what in whats[:_MOST])


def _suspicious(found: Any) -> Iterator[str]:
    """Lines whose values differ between the two runs; the others are counted."""
    differing = [tap for tap in found.taps if tap.differs]
    if differing:
        yield "Lines whose values differ:"
    for one in differing[:_MOST_TAPS]:
        yield f"  {one.category:<22}{shown(one.file)}:{one.line}  {counted(one.count, 'time')}"
    others = len(found.taps) - len(differing[:_MOST_TAPS])
    if others:
        yield f"{counted(others, 'more suspicious line')} in diagnosis.html"


def _not_seen(found: Any) -> Iterator[str]:
    """What is not known: conditions that were not varied, and what could not be recorded."""
    if found.not_varied:
        yield "Not varied, so their effect is unknown:"
        yield from (f"  {shown(one.what)}: {shown(one.how)}" for one in found.not_varied[:_MOST])
    if found.limits:
        yield "Not recorded:"
        yield from (f"  {shown(limit)}" for limit in found.limits[:_MOST])


def _next(found: Any) -> Iterator[str]:
    """Where the cause is unknown: what was tried, and what to type next."""
    if not found.next:
        return
    yield "Tried:"
    for one in found.tried:
        ended = f" ({shown(one.outcome)})" if one.outcome else ""
        yield f"  {counted(one.runs, 'run')}: {shown(one.what)}{ended}"
    yield "Next:"
    yield from (f"  {shown(one)}" for one in found.next)


def _certainty_text(cause: Cause) -> str:
    return {"high": "cause", "low": "suspected cause"}.get(cause.confidence, "cause, probably")


def confidence_text(cause: Cause) -> str:
    """The confidence, and why it is not high."""
    if cause.confidence == "high":
        return cause.confidence
    missing = "no run differed in which only this varied"
    if cause.category == "resume_state":
        missing = "no experiment brought it back"
    if cause.confidence == "low":
        missing = missing if cause.category == "resume_state" else "it was not confirmed"
    if cause.category == "simulator":
        missing = "it gave the same output in a process of its own"
    return f"{cause.confidence}, not high: {missing}"


def _cause_text(cause: Cause, root: Path) -> str:
    """What a cause does, with its place: ``np.random.shuffle at train.py:88 draws from …``."""
    if not cause.file:
        return cause.what
    subject, _, rest = cause.what.partition(": ")
    place = f"{_as_typed(cause.file, root)}:{cause.line}"
    return f"{subject} at {place} {rest}" if rest else f"{place}: {cause.what}"


def _as_typed(path: str, root: Path) -> str:
    return str(Path(path).relative_to(root)) if Path(path).is_relative_to(root) else path
