"""Row ``equals_golden``: the run is the golden again, within the recipe's tolerances (default 0/0).

It knows the comparison with the golden and whose golden it is; it refuses to know why they
differ, which is the verdict's to say.

    >>> check(evidence).reason
    'equal to golden/cartpole_baseline/cpu-x86_64/seed-42 in 49 records of 12 metrics, bit for bit'
"""

from __future__ import annotations

from reprokit.core.agreement import difference, not_golden
from reprokit.core.evidence import Evidence, GoldenEvidence, RunEvidence
from reprokit.core.rows import Finding, failed, passed, skipped, unjudged

ID = "equals_golden"
TITLE = "The run equals the golden"
ORDER = 20
ADVISORY = False
NEEDS_RECIPE = True


def check(evidence: Evidence) -> Finding:
    """The first run against the golden; the row ``repeatable`` speaks for the others."""
    golden = evidence.golden
    if golden is None:
        because = evidence.golden_missing_because or "there is no golden for this recipe, platform and seed"
        return skipped(because, "bless two agreeing runs: `reprokit golden promote RECIPE --reason …`")
    if not evidence.runs or not evidence.runs[0].complete:
        return unjudged("there is no finished run to hold against the golden", "run it to the end")
    run, comparison = evidence.runs[0], golden.comparison
    alien = _not_its_golden(evidence, golden, run)
    if alien:
        return unjudged(f"{golden.path}: {alien}", "name the golden of this recipe, platform and seed")
    if comparison.comparable and not comparison.within_tolerance:
        remedy = f"see what changed: `reprokit diff {golden.path} {run.path}`; bless it if it is meant"
        return failed(f"differs from {golden.path} {difference(comparison)}", remedy)
    because = not_golden(evidence)
    if because:
        return unjudged(f"{golden.path}: {because}", "see both files: `reprokit diff GOLDEN RUN`")
    how = "bit for bit" if comparison.identical else "within the recipe's tolerances, but not bit for bit"
    counts = f"{comparison.records_compared} records of {comparison.metrics_compared} metrics"
    return passed(
        f"equal to {golden.path} in {counts}, {how}",
        golden=golden.path,
        records=comparison.records_compared,
        metrics=comparison.metrics_compared,
        identical=comparison.identical,
    )


def _not_its_golden(evidence: Evidence, golden: GoldenEvidence, run: RunEvidence) -> str:
    asked = {
        "recipe": run.run.get("recipe"),
        "platform": evidence.platform,
        "seed": run.run.get("seed"),
    }
    for key, value in asked.items():
        blessed = golden.provenance.get(key)
        if blessed is None or type(blessed) is not type(value) or blessed != value:
            return f"provenance.json is of {key} {blessed!r}, but the run of {value!r}"
    return ""
