"""Row ``expected_declared``: the recipe says which results to expect, with tolerances."""

from __future__ import annotations

import math
from collections.abc import Mapping

from reprokit.core.evidence import Evidence
from reprokit.core.verdicts.rows import Finding, failed, passed

ID = "expected_declared"
TITLE = "Expected results are declared with tolerances"
ORDER = 160
ADVISORY = False
NEEDS_RECIPE = True
DECLARED_BY = "expected"

_DECLARE = "declare in recipe.yaml: `expected: {METRIC: {value: …, rtol: …, atol: …}}`"


def check(evidence: Evidence) -> Finding:
    """At least one result, each a finite value with a tolerance that is a number."""
    expected = (evidence.recipe or {}).get("expected")
    if not isinstance(expected, Mapping) or not expected:
        return failed("the recipe declares no expected results", _DECLARE)
    vague = sorted(str(name) for name, entry in expected.items() if not _is_declared(entry))
    if vague:
        return failed(f"expected without a finite value and tolerance: {', '.join(vague)}", _DECLARE)
    many = len(expected) > 1
    reason = f"the recipe expects {len(expected)} result{'s, each' if many else ','} with its tolerance"
    return passed(reason, metrics=sorted(expected))


def _is_declared(entry: object) -> bool:
    if not isinstance(entry, Mapping):
        return False
    numbers = [entry.get(key) for key in ("value", "rtol", "atol")]
    finite = [
        n for n in numbers if isinstance(n, int | float) and not isinstance(n, bool) and math.isfinite(n)
    ]
    return len(finite) == len(numbers) and min(finite[1:]) >= 0
