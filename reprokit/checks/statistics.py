"""Row ``statistics``: headline results come with an interval over seeds, and say how it was made."""

from __future__ import annotations

import math
from collections.abc import Mapping

from reprokit.core.evidence import Evidence, SweepEvidence, is_integer
from reprokit.core.rows import Finding, counted, failed, not_applicable, passed, unjudged

ID = "statistics"
TITLE = "Statistics over the seeds were made"
ORDER = 230
ADVISORY = True
NEEDS_RECIPE = True

_MAKE = "reproduce several seeds (row several_seeds says how), and estimate over their runs"


def check(evidence: Evidence) -> Finding:
    """Every expected result has an estimate, an interval around it, and a method."""
    if evidence.sweep is None or not evidence.sweep.wants_intervals:
        told = "one seed was judged" if evidence.sweep is None else "nobody estimated over the seeds"
        return not_applicable(f"{told}; statistics were not requested", _MAKE)
    expected = (evidence.recipe or {}).get("expected")
    if not isinstance(expected, Mapping) or not expected:
        return unjudged("the recipe declares no result to estimate", "declare `expected` in recipe.yaml")
    poor = sorted(str(name) for name in expected if not _is_estimated(evidence.sweep, name))
    if poor:
        return failed(
            f"without an estimate and interval over all seeds: {', '.join(poor)}", _MAKE, metrics=poor
        )
    seeds = len(evidence.sweep.final_values)
    results = counted(len(expected), "result")
    return passed(f"{results} estimated over {seeds} seeds", metrics=sorted(expected), seeds=seeds)


def _is_estimated(sweep: SweepEvidence, name: object) -> bool:
    entry = sweep.intervals.get(str(name), {})
    numbers = [entry.get(key) for key in ("low", "estimate", "high")]
    floats = [float(n) for n in numbers if isinstance(n, int | float) and not isinstance(n, bool)]
    if len(floats) != len(numbers) or not all(math.isfinite(number) for number in floats):
        return False
    num_seeds = entry.get("num_seeds")
    over_all = is_integer(num_seeds) and num_seeds == len(sweep.final_values) and len(sweep.final_values) > 1
    return floats == sorted(floats) and over_all and bool(entry.get("method"))
