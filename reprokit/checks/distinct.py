"""Row ``distinct``: workers, environments and rollouts have different random streams, which repeat."""

from __future__ import annotations

from reprokit.core import distinct_streams
from reprokit.core.evidence import Evidence, RunEvidence, fact
from reprokit.core.rows import Finding, counted, failed, not_applicable, passed

ID = "distinct"
TITLE = "Workers, environments and rollouts have different random streams"
ORDER = 260
ADVISORY = False
NEEDS_RECIPE = True

_DERIVE = "derive a seed for each: run.seeding.environment_seeds, or one of the worker's number"
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
    count = _num_seen(evidence)
    if count < 2:
        return not_applicable("nothing that draws numbers was seen to work side by side", _DERIVE)
    what = "worker" if watched else "environment"
    return passed(f"{counted(count, what)} side by side, each with a stream of its own, in every run")


def _clones(run: RunEvidence, *, watched: bool) -> list[str]:
    clones = distinct_streams.clones_of_workers if watched else distinct_streams.clones_of_trainer
    return [f"{run.path}: {one}" for one in clones(run)]


def _num_seen(evidence: Evidence) -> int:
    if not evidence.runs:
        return 0
    first = evidence.runs[0]
    if (evidence.recipe or {}).get("instrument"):
        return sum(map(len, distinct_streams.workers(first)))
    if not isinstance(fact(first.runtime, "seeding.alike"), list):
        return 0  # written before the runtime looked
    return distinct_streams.num_of_trainer(first)
