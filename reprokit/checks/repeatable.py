"""Row ``repeatable``: the runs with one seed are equal in every record, at 0/0."""

from __future__ import annotations

from reprokit.core.evidence import Evidence
from reprokit.core.verdicts.agreement import chance_of_another, difference, differing, why_not_repeated
from reprokit.core.verdicts.comparability import Objection, why_not_its_own
from reprokit.core.verdicts.ensemble_tier import excuses_difference, why_not_repeatable
from reprokit.core.verdicts.rows import (
    Finding,
    counted,
    failed,
    listed,
    not_applicable,
    passed,
    skipped,
    unjudged,
)

ID = "repeatable"
TITLE = "Two runs with one seed are equal, bit for bit"
ORDER = 10
ADVISORY = False
NEEDS_RECIPE = False

_MANY = 10  # runs
_SHOWN = 3  # names
_WHOLE = "let them end: `reprokit reproduce`, or `reprokit verify --no-watch-golden`"
_STRESSED = "the runs agree, but were disturbed on purpose, which never proves that a program repeats"
_TWICE = "run it twice to the end: `reprokit reproduce`"
_LATER_READ = "a later run read what was written while an earlier one ran"
_INHERITED = "while the runs went on, something changed that each inherits from this tool's own process"
_CHANNELS = {
    "memory": "shared memory that another run could read was left while a run was under way",
    "inherited": _INHERITED,
    "files": _LATER_READ,
}
_REMOVE = (
    "have the program write to {run_dir} only; then remove what is named here and run again (what it only "
    "fetches, such as data, may stay: run it again)"
)
_LEAVE = (
    "if the program left it: have it write to {run_dir} only, remove what is named here and run again; if "
    "another program of this user did: leave it, and run again when that has ended"
)
_NAME = (
    "have the program compute its numbers, or name on its command line the file of an earlier run that it "
    "begins from; in a container no other run is there: --backend docker"
)
_OWN = "have the program change its own process only, then run again"
_LOG = (
    "have the program write its metrics (JSON lines, CSV, TensorBoard) into the folder that {run_dir} names"
)
_TAKE = "let a recipe take what the program writes in the tree"


def check(evidence: Evidence) -> Finding:  # noqa: PLR0911 - a reason each
    """Every later run is equal to the first."""
    found = differing(evidence)
    if found is not None:
        first, (other, comparison) = evidence.runs[0], found
        remedy = f"see where they differ: `reprokit diff {first.path} {other.path}`"
        if excuses_difference(evidence):
            why = f"as the recipe says of {evidence.platform}: {why_not_repeatable(evidence)}"
            return not_applicable(f"{other.path} differs from the first run, {why}", remedy)
        where = difference(comparison, other="in the first run")  # neither of the two is the truth
        return failed(f"{other.path} differs from the first run {where}", remedy)
    if evidence.stopped_at_golden:
        return skipped(
            "the runs agree up to where they were stopped; nothing is known about the rest", _WHOLE
        )
    objection = _insufficient(evidence)
    if objection is None and evidence.is_stressed:
        return unjudged(_STRESSED, "run it as it is: `reprokit reproduce` without --stress")
    if objection is not None:
        return unjudged(objection.reason, _remedy(evidence))
    if carried := _carried_over(evidence):
        return unjudged(*carried)
    records, metrics = evidence.repeats[0].records_compared, evidence.repeats[0].metrics_compared
    num_runs = len(evidence.runs)
    in_what = f"{counted(records, 'record')} of {counted(metrics, 'metric')}"
    return passed(
        f"{num_runs} runs agree in {in_what}, bit for bit{_unproven(evidence)}{_kept(evidence)}"
        f"{_strength(num_runs)}",
        records=records,
        metrics=metrics,
        runs=num_runs,
        chance_of_another_at_most=chance_of_another(num_runs),
    )


def _unproven(evidence: Evidence) -> str:
    """Which metrics agree without proving anything."""
    names = [name for name in evidence.runs[0].without_value if name not in evidence.ignored_metrics]
    if not names:
        return ""
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    verb = "holds" if len(names) == 1 else "hold"
    return f"; {', '.join(names[:_SHOWN])}{more} {verb} not one finite value, which is no evidence"


def _carried_over(evidence: Evidence) -> tuple[str, str] | None:
    """Where a run may have its numbers from an earlier one, and what to do; None where nothing shows that."""
    for run in evidence.runs:
        if objection := why_not_its_own(run.run):
            return objection.about(run.path).reason, _NAME
    for kind, what in _CHANNELS.items():
        if left := _shared(evidence, kind):
            return f"{what}: {left}", {"inherited": _OWN, "memory": _LEAVE}.get(kind, _REMOVE)
    return None


def _shared(evidence: Evidence, kind: str) -> str:
    """What runs left for each other outside their folders: the first names; "" where nothing, or unknown."""
    names = sorted({name for run in evidence.runs for name in run.run.shared.get(kind, ())})
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{', '.join(names[:_SHOWN])}{more}"


def _kept(evidence: Evidence) -> str:
    """Files in caches and packages: libraries keep them there, so that they are named, no more."""
    names = _shared(evidence, "kept")
    return f"; {_LATER_READ}: {names}" if names else ""


def _strength(num_runs: int) -> str:
    """What so many runs prove: few leave a high chance possible, which is no estimate of it."""
    bound = chance_of_another(num_runs)
    if num_runs >= _MANY:
        return f"; the chance that one more differs is at most {bound:.1%} (95 % bound)"
    return (
        f"; {num_runs} runs are weak evidence: the chance that one more differs may still be as high as "
        f"{bound:.1%} (95 % bound); --repeats {_MANY} lowers that to {chance_of_another(_MANY):.1%}"
    )


def _logs_nothing(evidence: Evidence) -> bool:
    return len(evidence.runs) > 1 and all(run.complete and run.num_records == 0 for run in evidence.runs)


def _remedy(evidence: Evidence) -> str:
    if not _logs_nothing(evidence):
        return _TWICE
    written = [path for path, how in sorted(evidence.left_in_tree.items()) if how != "removed"]
    return f"{_TAKE} ({listed(written)})" if written and evidence.recipe is None else _LOG


def _insufficient(evidence: Evidence) -> Objection | None:
    if any(not run.complete for run in evidence.runs):
        return Objection("a run is incomplete, so its metrics prove nothing")
    return why_not_repeated(evidence)
