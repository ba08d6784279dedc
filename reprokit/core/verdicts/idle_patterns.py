"""Rows of what a recipe says of metrics: those that it leaves out, and patterns that fit nothing."""

from __future__ import annotations

from collections.abc import Iterator

from reprokit.core.checklist import CheckResult, Status
from reprokit.core.evidence import Evidence


def volatile(evidence: Evidence) -> list[CheckResult]:
    """A row for each metric that is left out, and each pattern that leaves none out."""
    return [
        CheckResult(
            id=f"volatile_metric/{name}",
            title=f"Metric {name} was left out",
            status=Status.SKIPPED,
            reason=f"volatile, as the recipe says: {because}",
            remedy="remove it from `volatile` in recipe.yaml to compare it",
            evidence={"metric": name, "because": because},
            required=False,
        )
        for name, because in sorted(evidence.volatile_metrics.items())
    ] + [
        CheckResult(
            id=f"volatile_metric/{pattern}",
            title=f"Metrics that match {pattern} were left out",
            status=Status.SKIPPED,
            reason=f"`volatile` in the recipe has {pattern!r}, which matches no metric: nothing was left out",
            remedy=f"correct it; the nearest names: {near}",
            evidence={"metric": None, "pattern": pattern},
            required=False,
        )
        for pattern, near in sorted(evidence.volatile_idle.items())
    ]


def printed(evidence: Evidence) -> Iterator[CheckResult]:
    """A row for each pattern of what is printed that finds nothing."""
    for number, pattern in enumerate(evidence.printed_idle, start=1):
        yield CheckResult(
            id=f"printed_pattern/{number}",
            title="Metrics that are printed were found",
            status=Status.SKIPPED,
            reason=f"`printed` in the recipe has {pattern!r}, which matches no line: "
            "nothing of it was compared",
            remedy="correct it, or leave it out: stdout.log and stderr.log of the run have what was printed",
            evidence={"pattern": pattern},
            required=False,
        )
