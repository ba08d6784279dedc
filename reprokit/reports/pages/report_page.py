"""What only the page of a report shows: rows that need a look, changed lines, records near the divergence."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from reprokit.core.checklist import Report, Status, Verdict
from reprokit.core.comparing.difference import Comparison
from reprokit.core.report_parts import FileChange
from reprokit.reports.charts.curves import Chart, Charts, charts
from reprokit.reports.escaping import Visible, one_line
from reprokit.reports.format_values import Facts, facts_of, in_words, relative_text, value_text
from reprokit.reports.formats.explanations import ATTRIBUTION_TITLE, CODE_TITLE
from reprokit.reports.formats.html_tables import HtmlTable, html_table
from reprokit.reports.formats.report_content import Outline, ReportRow, counts_of, sides_of
from reprokit.reports.pages.next_steps import NextStep, after_cause, next_steps
from reprokit.reports.pages.trace_heat import TraceHeat, trace_heat

_KINDS = {"+": "added", "-": "removed", "@": "place"}
_MOST_OF_LINE = 400
_HUNK = re.compile(r"@@ -\d+(?:,\d+)? \+(\d+)")
#: Files that hold settings: where none changed, the recipe's own did not.
_SETTINGS = (".yaml", ".yml", ".toml", ".json")


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffLine:
    """A line of a diff: ``added``, ``removed``, ``place`` or ``same``; its number in the new file, or ""."""

    kind: str
    number: str
    text: Visible
    is_cause: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedFile:
    """A file that changed since the golden, with lines of its diff."""

    path: Visible
    counts: Visible
    lines: tuple[DiffLine, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NearbyRow:
    """A record near the first divergence; ``mark`` says what it is."""

    record: Visible
    step: Visible
    expected: Visible
    actual: Visible
    mark: str  # "first", "differs" or "equal"


@dataclass(frozen=True, slots=True, kw_only=True)
class EqualMetric:
    """A metric that is equal wherever it was compared, in one line; its chart is folded."""

    chart: Chart
    told: Visible


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportPage:
    """The parts of the page that no other format has."""

    steps: tuple[NextStep, ...]
    far: Visible  # how far the values are apart that differ first; empty where none are two numbers
    also: Visible  # that the golden differs too, where the verdict is about two runs
    not_passed: tuple[ReportRow, ...]
    not_passed_counts: Visible
    not_passed_title: Visible
    attribution: Facts
    changes: Facts  # the commit, and files without lines to show
    changed: tuple[ChangedFile, ...]
    sides: tuple[Visible, Visible]
    nearby: tuple[NearbyRow, ...]
    heat: TraceHeat | None
    curves: Charts
    different: tuple[Chart, ...]  # all charts, where nothing differs
    equal: tuple[EqualMetric, ...]
    left: tuple[tuple[Visible, Facts], ...]  # explanations with no place of their own
    runs: HtmlTable | None  # when each run was made, and how long it took
    timing: Facts  # the same of the phases


def report_page(report: Report, found: Outline) -> ReportPage:
    """The parts of a report's page, escaped."""
    drawn, rows = charts(report), _not_passed(found)
    different, equal = _by_equality(report, drawn)
    explained = dict(found.explanations)
    files = report.code_changes.files if report.code_changes else ()
    causes = {card.place for card in found.cause.cards} if found.cause else set()
    changed = tuple(_changed(file, causes) for file in files if file.diff)
    shown = {file.path for file in changed}
    return ReportPage(
        steps=steps_of(found, new_lines=_new_lines(changed)),
        far=far_apart(report),
        also=_also(found),
        not_passed=rows,
        not_passed_counts=counts_of(rows),
        not_passed_title=_title_of(rows),
        attribution=explained.pop(ATTRIBUTION_TITLE, ()),
        changes=(
            *(fact for fact in explained.pop(CODE_TITLE, ()) if fact[0] not in shown),
            *_of_this_run(report),
        ),
        changed=changed,
        sides=sides_of(report),
        nearby=_nearby(report),
        heat=trace_heat(report.trace),
        curves=drawn,
        different=different,
        equal=equal,
        left=tuple(explained.items()),
        runs=_runs(report.timing.get("runs")),
        timing=in_words(facts_of({name: one for name, one in report.timing.items() if name != "runs"})),
    )


def _runs(made: object) -> HtmlTable | None:
    """A row a run; None where nothing is known of any."""
    rows = [dict(in_words(facts_of(one))) for one in made] if isinstance(made, list | tuple) else []
    names = list(dict.fromkeys(name for row in rows for name in row))
    if not names:
        return None
    cells = (
        [f"run {number}", *(row.get(name) for name in names)] for number, row in enumerate(rows, start=1)
    )
    return html_table([["Run", *(f"{name[:1].upper()}{name[1:]}" for name in names)], *cells])


def steps_of(found: Outline, *, new_lines: Collection[str] = ()) -> tuple[NextStep, ...]:
    """What to do next; where the cause is known and nothing else is, to fix it and to run again."""
    if found.next_command or not found.cause:
        return next_steps(found.next_command)
    promote = Visible(f"reprokit golden promote {found.recipe} --reason 'what changed'")
    again, is_other = found.rerun, _golden_row(found) is not None
    return after_cause(
        found.cause.cards, again=again, new_lines=new_lines, promote=promote if is_other else None
    )


def _golden_row(found: Outline) -> ReportRow | None:
    """The row on the golden, where it failed although the verdict is about two runs."""
    if found.verdict is not Verdict.NONDETERMINISTIC:
        return None
    failed = (row for row in found.rows if row.id == "equals_golden" and row.status is Status.FAILED)
    return next(failed, None)


def _also(found: Outline) -> Visible:
    row = _golden_row(found)
    if row is None:
        return Visible("")
    where = row.reason.partition(": ")[0]
    return Visible(f"Run 1 also {where}" if where.startswith("differs from ") else "The golden differs too")


def _new_lines(changed: Sequence[ChangedFile]) -> frozenset[str]:
    return frozenset(
        f"{file.path}:{line.number}" for file in changed for line in file.lines if line.kind == "added"
    )


def _of_this_run(report: Report) -> Iterator[tuple[Visible, Visible]]:
    """What else is known beside changed lines: the run's commit, and what did not change."""
    changes = report.code_changes
    if changes is None or not changes.commit:
        return
    source = report.environment.get("source")
    if isinstance(source, Mapping) and isinstance(source.get("commit"), str):
        is_dirty = source.get("dirty")
        told = {True: ", with uncommitted changes", False: ", without uncommitted changes"}
        known = told[is_dirty] if isinstance(is_dirty, bool) else ""
        yield Visible("this run's commit"), one_line(f"{source['commit']}{known}")
    passed = {row.id: row for row in report.checks if row.status is Status.PASSED}
    is_as_it_stands = "unmodified" in passed and passed["unmodified"].reason == "no setting was overridden"
    if is_as_it_stands and not any(file.path.endswith(_SETTINGS) for file in changes.files):
        yield Visible("settings"), Visible("no file of settings changed, none was overridden")
    fields = [str(row.get("field")) for row in report.environment_diff]
    environment = passed.get("environment_compatible")  # the whole record was compared where it says this
    is_compared = environment is not None and "fingerprint" in environment.evidence
    if is_compared and not any(one.startswith(("inside.packages", "inside.sources")) for one in fields):
        yield Visible("packages"), Visible("unchanged")


def far_apart(report: Report) -> Visible:
    """The values that differ first, and by how much; empty where they are not two numbers."""
    found = report.divergence
    if not found or not found.metric or found.rel_error is None:
        return Visible("")
    one, other = sides_of(report)
    values = f"{value_text(found.expected)} ({one}), {value_text(found.actual)} ({other})"
    return one_line(f"{found.metric}: {values}, relative error {relative_text(found.rel_error)}")


def _not_passed(found: Outline) -> tuple[ReportRow, ...]:
    """What is required and failed, what is required and was not judged, what else failed.

    None where no run finished.
    """
    if found.verdict is Verdict.NOT_RUN:
        return ()
    failed = [row for row in found.rows if row.status in {Status.FAILED, Status.ERROR}]
    return (
        *(row for row in failed if row.required),
        *(row for row in found.rows if row.status is Status.SKIPPED and row.required),
        *(row for row in failed if not row.required),
    )


def _title_of(rows: Sequence[ReportRow]) -> Visible:
    """What rows that did not pass are, by the first of them."""
    if not rows:
        return Visible("")
    if not rows[0].required:
        return Visible("What failed, and decides nothing")
    return Visible("What was not judged" if rows[0].status is Status.SKIPPED else "What failed")


def _changed(file: FileChange, causes: Collection[str]) -> ChangedFile:
    return ChangedFile(
        path=one_line(file.path),
        counts=one_line(f"+{file.added} -{file.removed}"),
        lines=tuple(
            DiffLine(
                kind=_KINDS.get(line[:1], "same"),
                number=number,
                text=one_line(line.expandtabs(4), limit=_MOST_OF_LINE),
                is_cause=bool(number) and f"{one_line(file.path)}:{number}" in causes,
            )
            for number, line in numbered(file.diff)
        ),
    )


def numbered(diff: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each line with its number in the new file; "" where it has none, or none is known."""
    number: int | None = None
    for line in diff:
        if hunk := _HUNK.match(line):
            number = int(hunk[1])
        if number is None or line.startswith(("@", "-", "\\")):
            yield "", line
        else:
            yield str(number), line
            number += 1


def _nearby(report: Report) -> tuple[NearbyRow, ...]:
    return tuple(
        NearbyRow(
            record=one_line(f"{one.record:,}"),
            step=Visible("–") if one.step is None else value_text(one.step),
            expected=_value(one.expected),
            actual=_value(one.actual),
            mark="first" if one.is_divergence else "equal" if one.expected == one.actual else "differs",
        )
        for one in report.nearby
    )


def _value(value: object) -> Visible:
    return Visible("–") if value is None else value_text(value)


def _by_equality(report: Report, drawn: Charts) -> tuple[tuple[Chart, ...], tuple[EqualMetric, ...]]:
    """Charts of what differs, and of what does not; where nothing differs, all are of the first kind."""
    comparisons = [*report.comparisons.repeats]
    comparisons += [report.comparisons.golden] if report.comparisons.golden else []
    equal = {one_line(name) for name in report.curves if _is_equal(name, comparisons)}
    if all(one.identical for one in comparisons):
        return drawn.shown, ()
    folded = [chart for chart in drawn.shown if chart.metric in equal]
    ends = {one_line(name): series for name, series in report.curves.items()}
    return (
        tuple(chart for chart in drawn.shown if chart.metric not in equal),
        tuple(EqualMetric(chart=chart, told=_end(ends[chart.metric][0].values)) for chart in folded),
    )


def _is_equal(name: str, comparisons: Sequence[Comparison]) -> bool:
    found = [one.per_metric.get(name) for one in comparisons]
    return bool(found) and all(one and not one.mismatches and not one.max_abs_error for one in found)


def _end(values: Sequence[float | None]) -> Visible:
    last = next((value for value in reversed(values) if value is not None), None)
    return Visible("equal") if last is None else one_line(f"equal, ends at {last:.6g}")
