"""What every format says about a report, in order. Text of the program under test is escaped here, once."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from reprokit.core.checklist import CheckResult, Report, Status, Verdict
from reprokit.core.comparing.difference import Comparison, MetricSummary, Problem
from reprokit.core.extension_record import ReportedSection
from reprokit.core.verdicts.rows import counted
from reprokit.reports.escaping import Visible, log_lines, one_line
from reprokit.reports.format_values import (
    Facts,
    error_text,
    facts_of,
    in_words,
    measured,
    relative_text,
    ulps_text,
    value_text,
)
from reprokit.reports.formats.explanations import explanations
from reprokit.reports.formats.results_over_seeds import results_over_seeds
from reprokit.reports.pages.cause import CausePage, cause_page
from reprokit.reports.shorten import from_root, short_digests

_MEANING: Mapping[Verdict, Visible] = {
    Verdict.REPRODUCED: Visible("the runs are equal to each other and to the golden"),
    Verdict.EQUIVALENT: Visible(
        "not the golden's bits; new seeds do not differ from its ensemble, and their interval excludes a "
        "worsening"
    ),
    Verdict.REPEATABLE: Visible("the runs are equal to each other; a plain command has no golden"),
    Verdict.NONDETERMINISTIC: Visible("two runs with one seed differ"),
    Verdict.REGRESSION: Visible("the runs agree, but no longer with the golden, with the same numerics"),
    Verdict.STALE_GOLDEN: Visible("the runs agree, but the golden was made in another environment"),
    Verdict.NO_GOLDEN: Visible("the runs agree, and there is no golden to compare them with"),
    Verdict.CHECK_FAILED: Visible("the numbers agree, but a required check failed"),
    Verdict.UNJUDGED: Visible("a required check could not be judged"),
    Verdict.NOT_RUN: Visible("a run did not finish"),
}
#: Where an ensemble judged, and there is no golden.
_BY_ENSEMBLE: Mapping[Verdict, Visible] = {
    Verdict.EQUIVALENT: Visible(
        "new seeds do not differ from the ensemble, and their interval excludes a worsening"
    ),
    Verdict.REGRESSION: Visible("new seeds differ from the ensemble, with the same numerics"),
}

_TONES = {Verdict.NO_GOLDEN: "plain"}  # nothing is wrong: there is nothing yet to compare with
_EFFECTS = ("yes", "maybe", "no")
#: The groups of an environment record, as a reader calls them.
_GROUPS = {
    "inside": "Python, packages and libraries of the training",
    "host": "Host",
    "source": "Source",
    "image": "Image",
    "limits": "Limits",
    "missing": "Not recorded, and why",
    "other": "Other",
}
#: What is said of values that differ and nothing more: both are shown.
_PLAIN = ("", "the values differ", "values differ")
_MAX_METRICS = 50
_MAX_DIFFERENCES = 200
_MAX_FACTS = 2000
_MAX_COMMAND = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportRow:
    """One row of the checklist."""

    id: Visible
    title: Visible
    status: Status
    reason: Visible
    remedy: Visible
    required: bool
    details: tuple[Visible, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentDifference:
    """One field that differs from the golden's environment; ``effect``: can it change numbers?"""

    field: Visible
    expected: Visible
    actual: Visible
    effect: Visible
    why: Visible


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricErrors:
    """The errors of one metric."""

    metric: Visible
    mismatches: Visible
    first_step: Visible
    max_abs_error: Visible
    max_rel_error: Visible


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One comparison: its metrics that differ, largest relative error first."""

    title: Visible
    summary: Visible
    metrics: tuple[MetricErrors, ...]
    num_cut: int
    problems: tuple[Visible, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FactGroup:
    """The facts under one heading of the environment record."""

    name: Visible
    facts: Facts
    num_cut: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignSection:
    """What an extension wrote: ``title`` and ``note`` say whose it is, the rest is its own text."""

    title: Visible
    note: Visible
    paragraphs: tuple[Visible, ...]
    tables: tuple[tuple[tuple[Visible, ...], ...], ...]  # the names of the columns are the first row


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """A report, ready to be drawn. ``tone`` is ``good``, ``bad``, ``plain`` or ``unknown``."""

    verdict: Verdict
    exit_code: int
    tone: str
    recipe: Visible
    platform: Visible
    seed: Visible
    created_at: Visible
    meaning: Visible
    sentence: Visible
    next_command: Visible
    rerun: Visible
    command: Visible
    subject: Facts
    rows: tuple[ReportRow, ...]
    counts: Visible
    not_run: Facts
    log_tail: tuple[Visible, ...]
    divergence: Facts
    cause: CausePage | None
    explanations: tuple[tuple[Visible, Facts], ...]
    differences: tuple[EnvironmentDifference, ...]
    num_differences_cut: int
    comparisons: tuple[Compared, ...]
    environment: tuple[FactGroup, ...]
    timing: Facts
    sections: tuple[ForeignSection, ...]


#: Runs by their folders, which a job of a CI takes with it, as it does the places that it names.
_PROMOTES_RUNS = re.compile(r"reprokit golden promote (?:(?!--)\S+/\S+ )+(--reason '[^']*')")
_OF_THE_JOB = re.compile(r" --(?:runs|reports)-dir [^\s,]+")


def _next_command(report: Report) -> str:
    """What to type next, without what this report answers already."""
    command = report.next_command
    program, _, rest = command.partition(" ")  # the program as it was typed, perhaps with its folder
    if (report.cause or {}).get("causes") and program.endswith("reprokit") and rest.startswith("diagnose "):
        return ""
    return command.partition(", else: ")[0] if report.attribution else command


def tone_of(verdict: Verdict, exit_code: int) -> str:
    """The tone of a page about a verdict: ``good``, ``bad``, ``plain`` or ``unknown``."""
    return _TONES.get(verdict, {0: "good", 1: "bad"}.get(exit_code, "unknown"))


def meaning_of(report: Report) -> Visible:
    """What its verdict means: where there is no golden, nothing of one."""
    by_ensemble = {} if report.golden else _BY_ENSEMBLE
    return by_ensemble.get(report.verdict) or _MEANING[report.verdict]


def outline_elsewhere(report: Report) -> Outline:
    """As ``outline``, for a reader who has the project and not the runs, as of a job in a CI.

    Runs that are promoted must be made there first.
    """
    found = outline(report)
    name, seed = found.recipe, found.seed
    again = f"reprokit reproduce {name} --seed {seed}, then: reprokit golden promote {name}"
    command = _PROMOTES_RUNS.sub(lambda match: f"{again} {match[1]}", found.next_command)
    if command != found.next_command:
        command = _OF_THE_JOB.sub("", command)
    return replace(found, next_command=Visible(command))


def outline(report: Report) -> Outline:
    """Everything a format says about a report, escaped."""
    report = from_root(report)
    differences = sorted(report.environment_diff, key=lambda row: _EFFECTS.index(row["can_change_numbers"]))
    not_run = dict(report.not_run or {})
    log_tail = not_run.pop("log_tail", None) or ""
    return Outline(
        verdict=report.verdict,
        exit_code=report.exit_code,
        tone=tone_of(report.verdict, report.exit_code),
        recipe=one_line(report.recipe),
        platform=one_line(report.platform),
        seed=one_line(report.seed),
        created_at=one_line(report.created_at),
        meaning=meaning_of(report),
        sentence=one_line(report.sentence.strip()),
        next_command=one_line(_next_command(report).strip(), limit=_MAX_COMMAND),
        rerun=one_line(report.rerun.strip().removesuffix(f"  # {report.recipe}"), limit=_MAX_COMMAND),
        command=one_line(report.command.strip(), limit=_MAX_COMMAND),
        subject=_subject(report),
        rows=tuple(_row(check) for check in report.checks),
        counts=counts_of(report.checks),
        not_run=in_words(facts_of(not_run)),
        log_tail=log_lines(log_tail if isinstance(log_tail, str) else "\n".join(map(str, log_tail))),
        divergence=_divergence(report),
        cause=cause_page(report.cause),
        explanations=explanations(report),
        differences=tuple(_difference(row) for row in differences[:_MAX_DIFFERENCES]),
        num_differences_cut=max(0, len(differences) - _MAX_DIFFERENCES),
        comparisons=tuple(_compared(title, one) for title, one in _comparisons(report)),
        environment=_environment(report.environment),
        timing=in_words(facts_of(report.timing)),
        sections=tuple(map(_foreign, report.sections)),
    )


def in_short(divergence: Facts) -> Facts:
    """What of a divergence has room on one screen: where, both values, one measure of their difference."""
    labels = {str(label) for label, _ in divergence}
    place = "step" if "step" in labels else "record"
    error = "units in the last place" if "units in the last place" in labels else "relative error"
    shown = ("what", place, "metric", "expected", "actual", "run ", "a later run", error)
    return tuple(fact for fact in divergence if fact[0].startswith(shown))


def _subject(report: Report) -> Facts:
    facts: list[tuple[str, str]] = [
        ("recipe", report.recipe),
        ("platform", report.platform),
        ("seed", str(report.seed)),
        ("golden", report.golden or "none"),
        *((f"run {number}", path) for number, path in enumerate(report.runs, start=1)),
        ("reported", report.created_at),
    ]
    return tuple((one_line(label), one_line(value)) for label, value in facts)


def _row(check: CheckResult) -> ReportRow:
    return ReportRow(
        id=one_line(check.id),
        title=one_line(check.title),
        status=check.status,
        reason=one_line(short_digests(check.reason) or "no reason given"),
        remedy=one_line(check.remedy),
        required=check.required,
        details=results_over_seeds(check),
    )


def counts_of(checks: Sequence[CheckResult | ReportRow]) -> Visible:
    """How many rows have which status.

    >>> counts_of([])
    'no checks'
    """
    counted = Counter(check.status for check in checks)
    order = (Status.PASSED, Status.FAILED, Status.SKIPPED, Status.ERROR)
    parts = [f"{counted[status]} {status.value.lower()}" for status in order if counted[status]]
    return Visible(", ".join(parts) or "no checks")


def _divergence(report: Report) -> Facts:
    found = report.divergence
    if not found:
        return ()
    expected, actual = sides_of(report)
    if report.verdict is not Verdict.NONDETERMINISTIC:  # of two runs, neither is the truth
        expected, actual = Visible(f"expected ({expected})"), Visible(f"actual ({actual})")
    facts = {
        "what": one_line("" if found.what in _PLAIN else found.what),
        "step": Visible("") if found.step is None else value_text(found.step),
        "metric": one_line(found.metric or "(whole record)"),
        expected: value_text(found.expected),
        actual: value_text(found.actual),
        "absolute error": error_text(found.abs_error),
        "relative error": relative_text(found.rel_error),
        "units in the last place": ulps_text(found.ulps),
        "record": one_line(f"{found.record} (counted from 0)"),
    }
    return tuple((Visible(label), text) for label, text in facts.items() if text)


def sides_of(report: Report) -> tuple[Visible, Visible]:
    """What a report's divergence is between: the golden and run 1, or run 1 and the first that differs."""
    if report.verdict is not Verdict.NONDETERMINISTIC:
        return Visible("golden"), Visible("run 1")
    repeats = enumerate(report.comparisons.repeats, start=2)
    later = next((f"run {number}" for number, one in repeats if not one.identical), "a later run")
    return Visible("run 1"), Visible(later)


def _difference(row: Mapping[str, Any]) -> EnvironmentDifference:
    return EnvironmentDifference(
        field=one_line(row.get("field")),
        expected=measured(str(row.get("field")), row.get("expected")),
        actual=measured(str(row.get("field")), row.get("actual")),
        effect=one_line(row["can_change_numbers"]),
        why=one_line(row.get("why") or ""),
    )


def _comparisons(report: Report) -> Iterator[tuple[str, Comparison]]:
    for number, comparison in enumerate(report.comparisons.repeats, start=2):
        yield f"Run 1 and run {number}", comparison
    if golden := report.comparisons.golden:
        yield "Golden and run 1", golden


def _compared(title: str, comparison: Comparison) -> Compared:
    differing = [(name, errors) for name, errors in comparison.per_metric.items() if errors.mismatches]
    differing.sort(key=lambda item: (-_size(item[1].max_rel_error), item[0]))
    if not comparison.records_compared or not comparison.metrics_compared:
        result = "nothing could be compared"
    elif comparison.identical:
        result = "identical"
    elif comparison.within_tolerance:
        result = "within tolerance"
    else:
        result = "different"
    records, metrics = comparison.records_compared, comparison.metrics_compared
    return Compared(
        title=Visible(title),
        summary=one_line(f"{counted(records, 'record')} of {counted(metrics, 'metric')} compared: {result}"),
        metrics=tuple(_metric(name, errors) for name, errors in differing[:_MAX_METRICS]),
        num_cut=max(0, len(differing) - _MAX_METRICS),
        problems=tuple(_problem(problem) for problem in comparison.problems[:_MAX_METRICS]),
    )


def _metric(name: str, errors: MetricSummary) -> MetricErrors:
    return MetricErrors(
        metric=one_line(name),
        mismatches=one_line(f"{errors.mismatches:,}"),
        first_step=value_text(errors.first_step),
        max_abs_error=error_text(errors.max_abs_error) or Visible("–"),
        max_rel_error=error_text(errors.max_rel_error) or Visible("–"),
    )


def _problem(problem: Problem) -> Visible:
    line = f", line {problem.line}" if problem.line is not None else ""
    place = f"{problem.severity} in {problem.side}{line}"
    return one_line(f"{problem.kind} ({place}): {problem.message}")


def _environment(record: Mapping[str, Any]) -> tuple[FactGroup, ...]:
    loose = {key: value for key, value in record.items() if not isinstance(value, Mapping) or not value}
    nested = {key: value for key, value in record.items() if key not in loose}
    groups = [*nested.items(), *([("other", loose)] if loose else [])]
    return tuple(_group(name, facts) for name, facts in groups)


def _group(name: str, record: Mapping[str, Any]) -> FactGroup:
    facts = facts_of(record)
    return FactGroup(
        name=one_line(_GROUPS.get(name, name)),
        facts=facts[:_MAX_FACTS],
        num_cut=max(0, len(facts) - _MAX_FACTS),
    )


def _foreign(section: ReportedSection) -> ForeignSection:
    told = "no verdict follows from it"
    if section.problem:
        told = f"it could not be written: {section.problem}"
    return ForeignSection(
        title=one_line(f"Extension {section.label}: {section.title}"),
        note=one_line(f"The extension {section.label} wrote this section {section.name}; {told}."),
        paragraphs=tuple(map(one_line, section.paragraphs)),
        tables=tuple(
            tuple(tuple(map(one_line, row)) for row in (table.head, *table.rows)) for table in section.tables
        ),
    )


def _size(error: Any) -> float:
    if isinstance(error, str):
        return math.inf
    return error if isinstance(error, int | float) and not math.isnan(error) else 0.0
