"""When evidence proves that runs agree or differ; ``why_not_…`` give None for a proof, else why not."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from typing import Any

from reprokit.core.comparison import MAX_INTEGER_BITS, Comparison
from reprokit.core.evidence import Evidence, RunEvidence, TraceComparison
from reprokit.core.verdicts.comparability import REPEATED, Objection, identity, why_not_comparable


def why_not_equal(
    comparison: Comparison | None, *, records: int | None, tolerant: bool = False
) -> Objection | None:
    """Why a comparison does not prove that two series agree; None when it does.

    Every one of ``records`` must have been compared; None where some may be left out on request.
    """
    if comparison is None:
        return Objection("the metrics were never compared")
    if comparison.records_compared <= 0 or comparison.metrics_compared <= 0:
        broken = next((one.message for one in comparison.problems if one.severity != "warning"), "")
        return Objection("no metric could be compared" + (f": {broken}" if broken else ""))
    for problem in comparison.problems:
        if problem.severity != "warning":
            where = "both files" if problem.side == "both" else f"the {problem.side} file"
            return Objection(f"{problem.kind} in {where}: {problem.message}")
    if comparison.identical is not True and not (tolerant and comparison.within_tolerance is True):
        return Objection("the metrics differ")
    if records is not None and comparison.records_compared != records:
        return Objection(f"only {comparison.records_compared} of {records} records were compared")
    return None


def chance_of_another(num_runs: int) -> float:
    """The upper 95 % bound on the chance that one more run differs, after ``num_runs`` that agree.

    Of ``n`` later runs that could have differed from the first, none did: a chance ``p`` lets that
    happen with probability ``(1 - p) ** n``, which is below 5 % for every ``p`` above this bound.
    That is the exact (Clopper-Pearson) one-sided bound for 0 of ``n``.

    >>> [round(chance_of_another(n), 3) for n in (2, 3, 10, 60)]
    [0.95, 0.776, 0.283, 0.05]
    """
    return 1.0 if num_runs < 2 else float(1 - 0.05 ** (1 / (num_runs - 1)))


def difference(comparison: Comparison, *, other: str = "expected") -> str:
    """Where a comparison found the first difference, to follow "differs".

    >>> difference(comparison)
    "from step 2048 on: losses/policy is 0.25, expected 0.125"

    Args:
        comparison: What was compared.
        other: What the value is called that stands on the expected side.
    """
    first = comparison.divergence
    if first is None:
        return "(place not recorded)"
    place = f"from record {first.record} on" if first.step is None else f"from step {_word(first.step)} on"
    if first.metric is None:
        return f"{place}: {first.what or 'whole records differ'}"
    why = f" ({first.what})" if "mean" in first.what else ""
    return f"{place}: {first.metric} is {_word(first.actual)}, {other} {_word(first.expected)}{why}"


def _word(value: object) -> str:
    """A value as the file has it: ``null``, not ``None``; of an integer of thousands of digits its length."""
    if value is None:
        return "null"
    if isinstance(value, int) and value.bit_length() > MAX_INTEGER_BITS:
        return f"an integer of {value.bit_length():,} bits"
    return str(value).lower() if isinstance(value, bool) else repr(value)


def why_not_repetitions(runs: Sequence[RunEvidence]) -> Objection | None:
    """Why runs are not repetitions of the first one; None when they are."""
    identities = [identity(run.run, config=run.config) for run in runs]
    for run, other in zip(runs[1:], identities[1:], strict=True):
        objection = why_not_comparable(identities[0], other, question=REPEATED)
        if objection is not None:
            return objection.about(run.path)
    return None


def differing(evidence: Evidence) -> tuple[RunEvidence, Comparison] | None:
    """The first finished, comparable run whose numbers are not the first run's; None when none is known."""
    for run, comparison in zip(evidence.runs[1:], evidence.repeats, strict=False):
        if comparison.comparable and not comparison.identical and _is_pair(evidence.runs[0], run):
            return run, comparison
    return None


def differing_trace(evidence: Evidence) -> tuple[RunEvidence, TraceComparison] | None:
    """The same for parameters and random states, as the traces have them."""
    for run, trace in zip(evidence.runs[1:], evidence.trace_repeats, strict=False):
        if trace.records_compared > 0 and not trace.equal and _is_pair(evidence.runs[0], run):
            return run, trace
    return None


def _is_pair(first: RunEvidence, other: RunEvidence) -> bool:
    return first.is_judged and other.is_judged and why_not_repetitions((first, other)) is None


def why_not_repeated(evidence: Evidence) -> Objection | None:
    """Why it is not proven that all runs agree in every metric; None when it is."""
    objection = why_not_two_runs(evidence)
    if objection is None and len(evidence.repeats) != len(evidence.runs) - 1:
        objection = Objection(f"{len(evidence.runs)} runs were compared {len(evidence.repeats)} times")
    for run, comparison in zip(evidence.runs[1:], evidence.repeats, strict=False):
        objection = objection or _not_equal(evidence, run, comparison)
    return objection


def _not_equal(evidence: Evidence, run: RunEvidence, comparison: Comparison) -> Objection | None:
    """Why a later run is not proven to equal the first; those of a plain command must be as long too."""
    first = evidence.runs[0]
    if run.num_records != first.num_records:
        counts = f"{run.path} has {run.num_records} records, {first.path} has {first.num_records}"
        return Objection(counts)
    if any(problem.kind == "only_nan" for problem in comparison.problems):
        return Objection("every metric is NaN, which is no evidence of anything")
    compared = set(first.metric_names) - set(evidence.ignored_metrics)
    if compared and compared.issubset(first.without_value):
        return Objection("no metric holds one finite value, which is no evidence of anything")
    return why_not_equal(comparison, records=None if evidence.recipe is None else run.num_records)


def why_not_golden(evidence: Evidence) -> Objection | None:
    """Why it is not proven that the first run agrees with the golden in every metric; None when it is."""
    if evidence.golden is None or not evidence.runs:
        return Objection("there is no golden, or no run to compare with it")
    golden = evidence.golden
    if golden.num_records <= 0:
        return Objection("the golden's records were not counted")
    if golden.is_foreign:  # a published log has fewer steps than the run, and all of it is held
        if any(problem.kind == "only_nan" for problem in golden.comparison.problems):
            return Objection("every number of the foreign log is NaN, which is no evidence of anything")
        return why_not_equal(golden.comparison, records=golden.num_records, tolerant=True)
    records = max(evidence.runs[0].num_records, golden.num_records)
    return why_not_equal(golden.comparison, records=records, tolerant=True)


def why_not_responding(evidence: Evidence) -> Objection | None:
    """Why nothing shows that an unmodified program's metrics respond to its seed; None when something does.

    A golden in which nothing responds proves nothing, unless the recipe says why: then that is what it is.
    A run in the golden's place stands for itself.
    """
    recipe = evidence.recipe or {}
    if "command" not in recipe or evidence.reference_run is not None or unresponsive(recipe):
        return None
    seen = evidence.seed_response
    if seen is not None and seen.shown_by:
        return None
    why_not = seen.why_not if seen is not None else ""
    return Objection(why_not or "nothing shows that a metric responds to the seed")


def unresponsive(recipe: Mapping[str, Any]) -> str:
    """Why no metric of a recipe responds to the seed, as it says; "" where it does not say so."""
    said = recipe.get("unresponsive")
    return str(said.get("because") or "").strip() if isinstance(said, Mapping) else ""


def takes_seed(recipe: Mapping[str, Any]) -> bool:
    """Whether a program is given the seed: in its command, or in a variable."""
    words = [*(recipe.get("command") or ()), *(recipe.get("env") or {}).values()]
    return any("{seed}" in str(word) for word in words)


def why_not_two_runs(evidence: Evidence) -> Objection | None:
    """Why there are not two finished runs; a copy, or one that does not say who it is, is no second run."""
    unfinished = next(filter(None, map(_unfinished, evidence.runs)), None)
    return _why_not_two_folders(evidence.runs) or unfinished or why_not_two_beginnings(evidence)


def why_not_two_beginnings(evidence: Evidence) -> Objection | None:
    """Why there are not two runs of what was asked for, whether they have finished or not."""
    partial = next(filter(None, map(_partial, evidence.runs)), None)
    same = _why_not_two_folders(evidence.runs) or partial or why_not_repetitions(evidence.runs)
    return same or _not_asked(evidence)


def _why_not_two_folders(runs: Sequence[RunEvidence]) -> Objection | None:
    if len(runs) < 2:
        return Objection(f"two runs are needed, and there is {'only one' if runs else 'none'}")
    if len({posixpath.normpath(run.path) for run in runs}) < len(runs):
        return Objection("the same run folder is given twice")
    return _copied(runs)


def _copied(runs: Sequence[RunEvidence]) -> Objection | None:
    names = [run.run.run_id for run in runs]
    for run, name in zip(runs, names, strict=True):
        if not name:
            return Objection(f"{run.path}: {run.incomplete_because or 'run.json has no run_id'}")
        if names.count(name) > 1:
            return Objection(f"{run.path}: a copy of another run ({name})")
    return None


def _unfinished(run: RunEvidence) -> Objection | None:
    if (partial := _partial(run)) is not None:
        return partial
    if not run.run.completed or run.run.exit_code != 0:
        return Objection(f"{run.path}: the run is incomplete according to run.json")
    return None


def _partial(run: RunEvidence) -> Objection | None:
    if run.run.resumed_from is not None:
        return Objection(f"{run.path}: a resumed run holds only the later steps of a training")
    if run.run.stopped_by is not None:
        return Objection(f"{run.path}: it was stopped early on purpose")
    if run.run.varied is not None:
        return Objection(f"{run.path}: its conditions were varied on purpose")
    return None


def _not_asked(evidence: Evidence) -> Objection | None:
    """Why the runs are not what was asked for; they are comparable by now, so the first stands for all."""
    run = evidence.runs[0]
    seed, name = run.run.seed, run.run.recipe
    if seed is None:
        return Objection(f"{run.path}: run.json names no seed")
    if evidence.seed is not None and seed != evidence.seed:
        return Objection(f"{run.path}: the seed is {seed}, but {evidence.seed} was requested")
    asked = name if evidence.recipe is None else evidence.recipe.get("name")
    if not name or name != asked:
        return Objection(f"{run.path}: a run of {name!r}, but {asked!r} was requested")
    return None
