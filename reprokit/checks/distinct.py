"""Row ``distinct``: workers, environments and rollouts have different random streams, which repeat."""

from __future__ import annotations

from reprokit.core.evidence import Evidence, RunEvidence, fact
from reprokit.core.sampling import distinct_streams
from reprokit.core.verdicts.rows import Finding, counted, failed, not_applicable, passed, unjudged

ID = "distinct"
TITLE = "Workers, environments and rollouts have different random streams"
ORDER = 260
ADVISORY = False
NEEDS_RECIPE = True
NEEDS_WATCH = True

_DERIVE = "derive a seed for each: run.seeding.environment_seeds, or one of the worker's number"
_RELAX = "if they are known to differ: relax the row in the recipe, with the reason"
_END = "run it again, to the end: `reprokit reproduce`"
_MOST_SHOWN = 20


def check(evidence: Evidence) -> Finding:
    """No two draw the same numbers, and each draws the same in every run."""
    watched = bool((evidence.recipe or {}).get("instrument"))
    wrong = [one for run in evidence.runs for one in _clones(run, watched=watched)]
    if evidence.runs:
        first, *others = evidence.runs
        wrong += [one for run in others for one in distinct_streams.unlike(first, run)]
    if wrong:
        return failed(wrong[0], _DERIVE, all=wrong[:_MOST_SHOWN])
    lacking = [(run, unseen) for run in evidence.runs if (unseen := _unseen(run))]
    if lacking:
        sentences = [f"{run.path}: {one}" for run, unseen in lacking for one in unseen]
        remedy = _RELAX if all(run.complete for run, _ in lacking) else _END
        return unjudged(sentences[0], remedy, all=sentences[:_MOST_SHOWN])
    seen = _seen(evidence)
    if not seen:
        return not_applicable("nothing that draws random numbers was seen to run in parallel", _DERIVE)
    told = " and ".join(counted(number, what) for what, number in seen.items())
    looked = distinct_streams.num_generators(evidence.runs[0])
    of_workers = f"; of a worker {counted(looked, 'generator')} looked at" if looked else ""
    return passed(f"{told} side by side, each with a stream of its own, in every run{of_workers}")


def _clones(run: RunEvidence, *, watched: bool) -> list[str]:
    kinds = distinct_streams.KINDS_OF_WATCHED if watched else (distinct_streams.clones_of_trainer,)
    return [f"{run.path}: {one}" for clones in kinds for one in clones(run)]


def _unseen(run: RunEvidence) -> list[str]:
    """What could not be looked at; of a run without an end that alone: much is recorded at the end only."""
    lacking = list(distinct_streams.unread(run))
    if not lacking or run.complete:
        return lacking
    ended = "was stopped at the golden" if run.stopped_at_golden else "did not finish"
    return [f"the run {ended}, so not everything that runs in parallel was looked at"]


def _seen(evidence: Evidence) -> dict[str, int]:
    """What works side by side → how many of it, two or more."""
    if not evidence.runs:
        return {}
    first = evidence.runs[0]
    if (evidence.recipe or {}).get("instrument"):
        found = distinct_streams.num_of_watched(first)
    elif isinstance(fact(first.runtime, "seeding.alike"), list):
        found = distinct_streams.num_of_trainer(first)
    else:
        found = {}  # written before the runtime looked
    return {what: number for what, number in found.items() if number > 1}
