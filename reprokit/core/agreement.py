"""When evidence proves that runs agree, or that they differ, and why it proves neither.

This module knows which runs may be held against each other at all: finished ones, of one thing,
each another execution. It refuses to know checks and verdicts.

    >>> agreement(None, records=10)
    'the numbers were never compared'
"""

from __future__ import annotations

import posixpath
from collections.abc import Sequence

from reprokit.core.comparison import Comparison
from reprokit.core.evidence import Evidence, RunEvidence, TraceComparison, fact, is_integer

# What two runs must share before "they differ" says anything about the program. A key that
# neither run has is no difference. The command holds its placeholders, so folders do not matter.
_ONE_THING = (
    "recipe",
    "seed",
    "device",
    "command",
    "numerics",
    "modified",
    "digests",
    "image.variant",
    "image.lock_digest",
)


def agreement(comparison: Comparison | None, *, records: int | None, tolerant: bool = False) -> str:
    """Why a comparison does not prove that two series agree; "" when it does.

    Args:
        comparison: What came of comparing, or None.
        records: Records of the longer series, every one of which must have been compared; None
            where some may be left out on request.
        tolerant: Whether "within tolerance" is enough.
    """
    if comparison is None:
        return "the numbers were never compared"
    if comparison.records_compared <= 0 or comparison.metrics_compared <= 0:
        return "not one number could be compared"
    for problem in comparison.problems:
        if problem.severity != "warning":
            return f"{problem.kind} in the {problem.side} file: {problem.message}"
    if comparison.identical is not True and not (tolerant and comparison.within_tolerance is True):
        return "the numbers differ"
    if records is not None and comparison.records_compared != records:
        return f"only {comparison.records_compared} of {records} records were compared"
    return ""


def chance_of_another(num_runs: int) -> float:
    """The upper 95 % bound on the chance that one more run differs, after ``num_runs`` that agree.

    Of ``n`` later runs that could have differed from the first, none did: a chance ``p`` lets that
    happen with probability ``(1 - p) ** n``, which is below 5 % for every ``p`` above this bound.
    That is the exact (Clopper-Pearson) one-sided bound for 0 of ``n``.

    >>> [round(chance_of_another(n), 3) for n in (2, 3, 10, 60)]
    [0.95, 0.776, 0.283, 0.05]

    Args:
        num_runs: How many runs agree, the first one included; fewer than 2 prove nothing.
    """
    return 1.0 if num_runs < 2 else float(1 - 0.05 ** (1 / (num_runs - 1)))


def difference(comparison: Comparison) -> str:
    """Where a comparison found the first difference, to follow "differs".

    >>> difference(comparison)
    "from step 2048 on: losses/policy is 0.25, expected 0.125"
    """
    first = comparison.divergence
    if first is None:
        return "(nobody recorded where)"
    place = f"from record {first.record} on" if first.step is None else f"from step {first.step!r} on"
    if first.metric is None:
        return f"{place}: {first.what or 'whole records differ'}"
    why = f" ({first.what})" if "mean" in first.what else ""
    return f"{place}: {first.metric} is {_word(first.actual)}, expected {_word(first.expected)}{why}"


def _word(value: object) -> str:
    """A value as the file has it: ``null``, not ``None``."""
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else repr(value)


def unlike(runs: Sequence[RunEvidence]) -> str:
    """Why runs are not of one thing (program, settings, seed, environment); "" when they are.

    Runs of different things differ for a reason that says nothing about determinism.
    """
    for run in runs[1:]:
        for key in _ONE_THING:
            expected, actual = fact(runs[0].run, key), fact(run.run, key)
            if type(expected) is not type(actual) or expected != actual:
                return f"{run.path}: {key} is {actual!r}, but {expected!r} in {runs[0].path}"
        if run.config != runs[0].config:
            return f"{run.path}: config.yaml is not that of {runs[0].path}"
    return ""


def differing(evidence: Evidence) -> tuple[RunEvidence, Comparison] | None:
    """The first run whose numbers are not the first run's, or None when none is known to differ.

    Only finished runs of one thing count: others differ for a reason of their own.
    """
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
    return first.complete and other.complete and not unlike((first, other))


def not_repeated(evidence: Evidence) -> str:
    """Why it is not proven that all runs agree in every number; "" when it is."""
    because = not_two_of_one_thing(evidence)
    if not because and len(evidence.repeats) != len(evidence.runs) - 1:
        because = f"{len(evidence.runs)} runs were compared {len(evidence.repeats)} times"
    for run, comparison in zip(evidence.runs[1:], evidence.repeats, strict=False):
        because = because or _not_equal(evidence, run, comparison)
    return because


def _not_equal(evidence: Evidence, run: RunEvidence, comparison: Comparison) -> str:
    """Why a later run is not proven to be equal to the first, record for record.

    A plain command may log more than it was asked to compare; its runs must be equally long all
    the same.
    """
    first = evidence.runs[0]
    if run.num_records != first.num_records:
        return f"{run.path} has {run.num_records} records, {first.path} has {first.num_records}"
    return agreement(comparison, records=None if evidence.recipe is None else run.num_records)


def not_golden(evidence: Evidence) -> str:
    """Why it is not proven that the first run agrees with the golden in every number."""
    if evidence.golden is None or not evidence.runs:
        return "there is no golden, or no run to hold against it"
    records = max(evidence.runs[0].num_records, evidence.golden.num_records)
    if evidence.golden.num_records <= 0:
        return "nobody counted the golden's records"
    return agreement(evidence.golden.comparison, records=records, tolerant=True)


def not_two_of_one_thing(evidence: Evidence) -> str:
    """Why there are not at least two finished runs of the one thing asked for; "" when there are.

    A folder that is given twice, or a copy of it, is one run. A run that does not say who it is
    could be anybody's.
    """
    runs = evidence.runs
    if len(runs) < 2:
        return f"it takes two runs to judge, and there is {'only one' if runs else 'none'}"
    if len({posixpath.normpath(run.path) for run in runs}) < len(runs):
        return "one run folder is given twice"
    return (
        _copied(runs)
        or next(filter(None, map(_unfinished, runs)), "")
        or unlike(runs)
        or _not_asked(evidence)
    )


def _copied(runs: Sequence[RunEvidence]) -> str:
    names = [run.run.get("run_id") for run in runs]
    for run, name in zip(runs, names, strict=True):
        if not isinstance(name, str) or not name:
            return f"{run.path}: run.json does not say which run it is"
        if names.count(name) > 1:
            return f"{run.path}: a copy of another run ({name})"
    return ""


def _unfinished(run: RunEvidence) -> str:
    exit_code = run.run.get("exit_code")
    if run.run.get("resumed_from") is not None:
        return f"{run.path}: a resumed run holds only the later steps of a training"
    if run.run.get("varied") is not None:
        return f"{run.path}: its surroundings were varied on purpose"
    if run.run.get("outcome") != "completed" or not is_integer(exit_code) or exit_code != 0:
        return f"{run.path}: run.json does not say that the run completed"
    return ""


def _not_asked(evidence: Evidence) -> str:
    """Why the runs are not what was asked for; they are alike by now, so the first stands for all."""
    run = evidence.runs[0]
    seed, name = run.run.get("seed"), run.run.get("recipe")
    if not is_integer(seed):
        return f"{run.path}: run.json does not say which seed was used, but {seed!r}"
    if evidence.seed is not None and seed != evidence.seed:
        return f"{run.path}: the seed is {seed}, but {evidence.seed} was asked for"
    asked = name if evidence.recipe is None else evidence.recipe.get("name")
    if not name or name != asked:
        return f"{run.path}: a run of {name!r}, but {asked!r} was asked for"
    return ""
