"""Rows that extensions bring: next to the checklist's own, and never with a say in the verdict."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reprokit.core.evidence import Evidence
from reprokit.core.records import canonical_json
from reprokit.core.verdicts.rows import FOREIGN, CheckResult, Finding, Status, unjudged
from reprokit.extensions.registry import at_work, brought


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedRuns:
    """What a row or a report section of an extension may look at.

    Attributes:
        recipe: The recipe as plain data; None for a plain command.
        platform: Of the runs.
        runs: Their folders; ``reprokit.api.read_run`` reads them.
        golden: The folder of the golden that they were compared with, or None.
        strict: Whether ``--strict`` was asked for.

    >>> judged = JudgedRuns(recipe=None, platform="cpu-x86_64", runs=(), golden=None, strict=False)
    >>> len(judged.runs)
    0
    """

    recipe: Mapping[str, Any] | None
    platform: str
    runs: tuple[Path, ...]
    golden: Path | None
    strict: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A row of an extension.

    Attributes:
        title: What it promises, one line.
        check: Judges the runs; may raise, which is ERROR.

    >>> row = Row(title="There are two runs", check=lambda judged: passed(f"{len(judged.runs)} runs"))
    >>> row.title
    'There are two runs'
    """

    title: str
    check: Callable[[JudgedRuns], Finding]


def foreign_rows(evidence: Evidence) -> Iterator[CheckResult]:
    """A row for each that the loaded extensions bring; all of them advisory, under ``--strict`` too."""
    for extension, name, row in brought("rows", form=Row):
        finding = _found(row, evidence, label=extension.label)
        yield CheckResult(
            id=f"{FOREIGN}{extension.named.name}/{name}",
            title=row.title,
            status=finding.status,
            reason=finding.reason,
            remedy=finding.remedy,
            evidence=finding.evidence,
            required=False,
        )


def judged_runs(evidence: Evidence) -> JudgedRuns:
    """What of the evidence extensions are shown: copies, which they may spoil."""
    return JudgedRuns(
        recipe=copy.deepcopy(dict(evidence.recipe)) if evidence.recipe is not None else None,
        platform=evidence.platform,
        runs=tuple(Path(run.path) for run in evidence.runs),
        golden=Path(evidence.golden.path) if evidence.golden else None,
        strict=evidence.strict,
    )


def _found(row: Row, evidence: Evidence, *, label: str) -> Finding:
    report_it = f"report it to the authors of {label}"
    try:
        with at_work():
            finding = row.check(judged_runs(evidence))
        is_whole = isinstance(finding, Finding) and isinstance(finding.status, Status) and finding.reason
        if not is_whole:
            return unjudged("the row is faulty: it returned no finding with a reason", report_it)
        canonical_json(finding.evidence)
    except (Exception, SystemExit) as error:  # of others: a fault is no answer
        return unjudged(f"the row is faulty: {type(error).__name__}: {error}", report_it)
    return finding
