"""Row ``headline_results``: every run reached what the recipe expects, at its end or over a window.

The tolerance is ``abs(actual - expected) <= atol + rtol * abs(expected)``; a value that is not a finite
number is never within it.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

from reprokit.core.evidence import Evidence, RunEvidence
from reprokit.core.statistics.windows import LAST
from reprokit.core.verdicts.expected_results import finite_number, over, reached, window_of
from reprokit.core.verdicts.rows import Finding, counted, failed_runs, passed, unjudged

ID = "headline_results"
TITLE = "The final results are within the declared tolerances"
ORDER = 40
ADVISORY = False
NEEDS_RECIPE = True
DECLARED_BY = "expected"
NEEDS_WHOLE_RUNS = True

_LOOK = "see the learning curves: `reprokit report show`; correct the recipe's `expected` if it is wrong"


def check(evidence: Evidence) -> Finding:
    """Every expected metric of every run."""
    declared = (evidence.recipe or {}).get("expected")
    if not isinstance(declared, Mapping) or not declared:
        return unjudged("the recipe declares no expected results", "declare `expected` in recipe.yaml")
    if broken := failed_runs(evidence, lambda run: _problem(run, declared), _LOOK):
        return broken
    results = counted(len(declared), "expected result")
    return passed(f"{results} reached by every run", expected={str(k): repr(v) for k, v in declared.items()})


def _problem(run: RunEvidence, declared: Mapping[str, Any]) -> str:
    for name, entry in declared.items():
        fields = entry if isinstance(entry, Mapping) else {}
        value, rtol, atol = (finite_number(fields.get(key)) for key in ("value", "rtol", "atol"))
        window = window_of(fields)
        actual, why = reached(name, window, final_values=run.final_values, windowed=run.windowed)
        if name not in run.final_values:
            return f"{name} {why}{_near(name, run.final_values)}"
        if value is None or rtol is None or atol is None or rtol < 0 or atol < 0:
            return f"{name} is expected without a finite value and tolerance"
        if actual is None:
            return f"{name} {why}"
        bound = atol + rtol * abs(value)
        if not abs(actual - value) <= bound:
            came = "ended at" if window == LAST else "is"
            return f"{name}{over(window)} {came} {actual!r}, expected {value!r} within {bound:.6g}"
    return ""


def _near(name: str, logged: Mapping[str, Any]) -> str:
    """The logged metric that was probably meant, to end a sentence with."""
    near = difflib.get_close_matches(str(name), map(str, logged), n=1)
    return f"; did the recipe mean {near[0]!r}?" if near else ""
