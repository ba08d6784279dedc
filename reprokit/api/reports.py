"""A report and its rows, as ``report.json`` has them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reprokit.api.comparisons import Comparison
from reprokit.api.tables import Tabular
from reprokit.core import checklist
from reprokit.core.checklist import Verdict
from reprokit.core.comparing.difference import Divergence
from reprokit.core.verdicts.rows import Status
from reprokit.reports.formats import to_json

_TONES = {0: "good", 1: "bad"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row of the checklist.

    Attributes:
        id: Stable, lower case with underscores.
        title: For people.
        status: ``PASSED``, ``FAILED``, ``SKIPPED``, …
        reason: Why, in one sentence.
        remedy: What to do, or "".
        required: Whether it counts for the verdict.
        evidence: What it was judged from, in plain JSON types.

    >>> row = read_report(list_reports()[0]).row("repeatable")
    >>> row.required, row.remedy
    (True, '')
    """

    id: str
    title: str
    status: Status
    reason: str
    remedy: str
    required: bool
    evidence: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report(Tabular):
    """A verdict, and what it rests on. Its table has one line a row.

    Attributes:
        verdict: In one word.
        exit_code: That of the command line.
        sentence: Why, in one sentence.
        next_command: What to do next, in words with the commands, or "".
        recipe: Its name; of a plain command what its runs are filed under.
        platform: Where it was judged: ``cpu-x86_64``, …
        seed: Of the runs.
        runs: The run folders.
        golden: The golden's folder; None where there is none.
        divergence: The first difference that decided; None where nothing differs.
        compared_with_golden: The first run, compared with the golden.
        repeats: The first run, compared with each later one.
        rows: The checklist.
        cause: What ``diagnose`` found, where it was asked for, as its ``--json`` has it.
        created_at: ISO 8601, UTC.
        rerun: What to type to run it again.
        folder: Where ``report.json`` and the pages are.
        data: The whole of ``report.json``, in plain JSON types.

    >>> report = read_report(list_reports()[0])
    >>> report.recipe, report.exit_code
    ('cartpole_baseline', 1)
    >>> report.row("repeatable").status.value
    'PASSED'
    """

    verdict: Verdict
    exit_code: int
    sentence: str
    next_command: str
    recipe: str
    platform: str
    seed: int
    runs: tuple[Path, ...]
    golden: Path | None
    divergence: Divergence | None
    compared_with_golden: Comparison | None = field(repr=False)
    repeats: tuple[Comparison, ...] = field(repr=False)
    rows: tuple[Row, ...] = field(repr=False)
    cause: Mapping[str, Any] | None = field(repr=False)
    created_at: str
    rerun: str
    folder: Path
    data: Mapping[str, Any] = field(repr=False)

    @property
    def passed(self) -> bool:
        """Whether a gate lets it through: the exit code is 0."""
        return self.exit_code == 0

    def row(self, name: str) -> Row:
        """The row of this id.

        Raises:
            KeyError: There is none.
        """
        found = {row.id: row for row in self.rows}
        return found[name]

    def rows_of_table(self) -> list[dict[str, Any]]:
        """``id``, ``status``, ``required``, ``title``, ``reason`` and ``remedy``, failed rows first."""
        names = ("id", "status", "required", "title", "reason", "remedy")
        ordered = sorted(self.rows, key=lambda row: row.status not in {Status.FAILED, Status.ERROR})
        return [{name: _plain(getattr(row, name)) for name in names} for row in ordered]

    def headline(self) -> tuple[str, str, str]:
        """The verdict and its sentence."""
        return self.verdict.value, _TONES.get(self.exit_code, "odd"), self.sentence


def report_of(report: checklist.Report, folder: Path) -> Report:
    """The record of a report that was written to a folder."""
    golden = report.comparisons.golden
    return Report(
        verdict=report.verdict,
        exit_code=report.exit_code,
        sentence=report.sentence,
        next_command=report.next_command,
        recipe=report.recipe,
        platform=report.platform,
        seed=report.seed,
        runs=tuple(map(Path, report.runs)),
        golden=Path(report.golden) if report.golden else None,
        divergence=report.divergence,
        compared_with_golden=None if golden is None else Comparison.of(golden),
        repeats=tuple(map(Comparison.of, report.comparisons.repeats)),
        rows=tuple(
            Row(
                id=one.id,
                title=one.title,
                status=one.status,
                reason=one.reason,
                remedy=one.remedy,
                required=one.required,
                evidence=one.evidence,
            )
            for one in report.checks
        ),
        cause=report.cause,
        created_at=report.created_at,
        rerun=report.rerun,
        folder=folder,
        data=to_json.to_dict(report),
    )


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, Status) else value
